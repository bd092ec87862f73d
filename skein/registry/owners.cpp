#include "skein/registry/owners.hpp"

#include <utility>

namespace skein::inline v0::detail {

bool Owners::link(Pid owner, std::uint32_t index) {
  Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const auto [at, is_new] = shard.records.try_emplace(owner.bits());
  Record& record = at->second;
  ColdEntry& entry = entries_.cold(index);
  entry.previous = EntryTable::k_none;
  entry.next = record.first;
  if (record.first != EntryTable::k_none) entries_.cold(record.first).previous = index;
  record.first = index;
  return is_new;
}

void Owners::unlink(Pid owner, std::uint32_t index) {
  Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const ColdEntry& entry = entries_.cold(index);
  if (entry.next != EntryTable::k_none) entries_.cold(entry.next).previous = entry.previous;
  if (entry.previous != EntryTable::k_none) {
    entries_.cold(entry.previous).next = entry.next;
  } else {
    shard.records.find(owner.bits())->second.first = entry.next;
  }
}

bool Owners::tie(Pid owner, std::uint64_t id) {
  Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const auto [at, is_new] = shard.records.try_emplace(owner.bits());
  auto& ids = at->second.ids;
  if (ids == nullptr) ids = std::make_unique<boost::unordered_flat_set<std::uint64_t>>();
  ids->insert(id);
  return is_new;
}

void Owners::untie(Pid owner, std::uint64_t id) {
  Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.records.find(owner.bits());
  if (found != shard.records.end() && found->second.ids != nullptr) found->second.ids->erase(id);
}

std::optional<Owners::Owned> Owners::first(Pid owner) const {
  const Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.records.find(owner.bits());
  if (found == shard.records.end() || found->second.first == EntryTable::k_none) return std::nullopt;
  // In the list, so it will not be released while this lock is held; its key stands, whatever its incarnation.
  const std::uint32_t index = found->second.first;
  const HotEntry& entry = entries_.hot(index);
  Owned owned{static_cast<KeyKind>(entry.shape.load(std::memory_order_acquire) >> 16U), {}};
  // It can be published or hidden while it is read; then look again.
  while (!entries_.read_text(entry_ref(index, entry.incarnation.load(std::memory_order_acquire)), owned.text)) {
  }
  return owned;
}

std::optional<std::vector<std::uint64_t>> Owners::forget(Pid owner) {
  Shard& shard = shard_of(owner);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.records.find(owner.bits());
  std::vector<std::uint64_t> ids;
  if (found == shard.records.end()) return ids;
  if (found->second.first != EntryTable::k_none) return std::nullopt;
  if (found->second.ids != nullptr) ids.assign(found->second.ids->begin(), found->second.ids->end());
  shard.records.erase(found);
  return ids;
}

std::vector<Pid> Owners::all() const {
  std::vector<Pid> owners;
  for (const Shard& shard : shards_) {
    const std::scoped_lock lock(shard.mutex);
    for (const auto& [bits, record] : shard.records) owners.push_back(Pid::from_bits(bits));
  }
  return owners;
}

}  // namespace skein::inline v0::detail
