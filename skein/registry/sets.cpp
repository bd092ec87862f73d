#include "skein/registry/sets.hpp"

#include <string>

namespace skein::inline v0::detail {
namespace {

[[nodiscard]] std::uint64_t link_word(std::uint32_t set, std::uint32_t place) {
  return ((std::uint64_t{set} + 1) << 32U) | place;
}

}  // namespace

Sets::Named& Sets::named(std::uint32_t set) const {
  return *reinterpret_cast<Named*>(static_cast<std::uintptr_t>(table_.hot(set).value.load(std::memory_order_acquire)));
}

Sets::Named& Sets::make(std::uint32_t set, const Key& key) {
  std::atomic<std::uint64_t>& address = table_.hot(set).value;
  if (address.load(std::memory_order_acquire) == 0) {
    auto made = std::make_unique<Named>();
    address.store(reinterpret_cast<std::uintptr_t>(made.get()), std::memory_order_release);
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(made));
  }
  Named& result = named(set);
  result.key = key;
  return result;
}

void Sets::note_move(std::uint32_t set, std::uint64_t ref, std::uint32_t place) const {
  const auto index = static_cast<std::uint32_t>(ref >> 32U);
  const std::size_t count = entries_.cold(index).sets_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    std::atomic<std::uint64_t>& link = entries_.set_link(index, i);
    if (link.load(std::memory_order_relaxed) >> 32U != std::uint64_t{set} + 1) continue;
    link.store(link_word(set, place), std::memory_order_release);
    return;
  }
}

bool Sets::add(const Key& set, std::uint32_t index, std::uint32_t incarnation, std::size_t i) {
  const auto lock = table_.lock(set);
  std::uint32_t found = table_.find_held(set);
  const bool is_new = found == EntryTable::k_none;
  if (is_new) found = table_.claim(set, 0);
  if (found == EntryTable::k_none) return false;
  Named& into = is_new ? make(found, set) : named(found);
  const std::uint32_t place = into.members.add(entry_ref(index, incarnation),
                                               [&](std::uint64_t ref, std::uint32_t to) { note_move(found, ref, to); });
  entries_.set_link(index, i).store(link_word(found, place), std::memory_order_release);
  if (is_new) table_.publish(set, found);
  return true;
}

bool Sets::remove(std::uint32_t index, std::size_t i) {
  std::atomic<std::uint64_t>& link = entries_.set_link(index, i);
  const std::uint64_t before = link.load(std::memory_order_acquire);
  if (before == 0) return false;
  const auto set = static_cast<std::uint32_t>((before >> 32U) - 1);
  Named& from = named(set);
  // Stable while this entry is a member.
  const Key& key = from.key;
  const auto lock = table_.lock(key);
  // Only now is the place certain.
  const auto place = static_cast<std::uint32_t>(link.load(std::memory_order_acquire));
  from.members.remove(place, [&](std::uint64_t ref, std::uint32_t to) { note_move(set, ref, to); });
  link.store(0, std::memory_order_release);
  if (from.members.size() != 0) return false;
  table_.hide(key, set);
  table_.release(key, set);
  return true;
}

std::vector<std::string> Sets::names_of(std::uint64_t ref) const {
  const auto index = static_cast<std::uint32_t>(ref >> 32U);
  std::vector<std::string> names;
  const std::size_t count = entries_.cold(index).sets_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count && entries_.is_live(ref); ++i) {
    const auto rest = entries_.cold(index).sets_rest.load(std::memory_order_acquire);
    if (i >= k_inline_sets && rest == nullptr) break;
    const std::uint64_t link = entries_.set_link(index, i).load(std::memory_order_acquire);
    if (link == 0) continue;
    const auto set = static_cast<std::uint32_t>((link >> 32U) - 1);
    const std::uint32_t incarnation = table_.hot(set).incarnation.load(std::memory_order_acquire);
    std::string name;
    if (table_.read_text(entry_ref(set, incarnation), name)) names.push_back(std::move(name));
  }
  if (!entries_.is_live(ref)) names.clear();
  return names;
}

}  // namespace skein::inline v0::detail
