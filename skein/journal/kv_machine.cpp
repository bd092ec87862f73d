#include "skein/journal/kv_machine.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "skein/base/bytes.hpp"
#include "skein/base/crc32c.hpp"

namespace skein::inline v0::journal {
namespace {

enum class Op : std::uint8_t { put = 1, erase = 2, add = 3 };

std::string command(Op op, std::string_view key, std::string_view value) {
  std::string out;
  ByteWriter w(out);
  w.u8(static_cast<std::uint8_t>(op));
  w.blob(key);
  w.blob(value);
  return out;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

using Shards = std::vector<std::shared_ptr<const KvMachine::Shard>>;

void write_shards(const Shards& shards, SnapshotSink& sink) {
  std::string out;
  for (const auto& shard : shards) {
    out.clear();
    ByteWriter w(out);
    w.u64(shard->size());
    for (const auto& [key, value] : *shard) {
      w.blob(key);
      w.blob(value);
    }
    sink.write(out);
  }
}

class FrozenShards final : public Frozen {
 public:
  explicit FrozenShards(Shards shards) : shards_(std::move(shards)) {}
  void write(SnapshotSink& sink) const override { write_shards(shards_, sink); }

 private:
  Shards shards_;
};

}  // namespace

std::string kv_put(std::string_view key, std::string_view value) { return command(Op::put, key, value); }
std::string kv_erase(std::string_view key) { return command(Op::erase, key, {}); }
std::string kv_add(std::string_view key, std::uint64_t amount) { return command(Op::add, key, std::to_string(amount)); }

KvMachine::KvMachine() {
  for (auto& slot : slots_) slot.shard = std::make_shared<Shard>();
}

const KvMachine::Slot& KvMachine::slot_of(std::string_view key) const { return slots_[crc32c(key) % k_shards]; }

KvMachine::Shard& KvMachine::writable(std::string_view key) {
  auto& slot = slots_[crc32c(key) % k_shards];
  if (slot.epoch != epoch_) {
    slot.shard = std::make_shared<Shard>(*slot.shard);
    slot.epoch = epoch_;
  }
  return *slot.shard;
}

std::string KvMachine::apply(Position, std::string_view bytes) {
  ByteReader r(bytes);
  const auto op = static_cast<Op>(r.u8());
  const auto key = r.blob();
  const auto value = r.blob();
  if (!r.done() || op < Op::put || op > Op::add) return "bad command";
  auto& shard = writable(key);
  const auto at = shard.find(key);
  if (op == Op::erase) {
    if (at == shard.end()) return "none";
    shard.erase(at);
    --size_;
    return "ok";
  }
  const bool adds = op == Op::add;
  std::string next(value);
  if (adds) next = std::to_string((at == shard.end() ? 0 : number_of(at->second)) + number_of(value));
  std::string answer = adds ? next : "ok";
  if (at == shard.end()) {
    shard.emplace(key, std::move(next));
    ++size_;
  } else {
    at->second = std::move(next);
  }
  return answer;
}

std::shared_ptr<const Frozen> KvMachine::freeze() {
  ++epoch_;
  Shards shards;
  shards.reserve(k_shards);
  for (const auto& slot : slots_) shards.push_back(slot.shard);
  return std::make_shared<FrozenShards>(std::move(shards));
}

bool KvMachine::restore(std::string_view bytes) {
  ByteReader r(bytes);
  size_ = 0;
  for (auto& slot : slots_) {
    slot.shard = std::make_shared<Shard>();
    slot.epoch = epoch_;
    const std::uint64_t count = r.u64();
    for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
      const auto key = r.blob();
      const auto value = r.blob();
      slot.shard->emplace_hint(slot.shard->end(), key, value);
    }
    size_ += slot.shard->size();
  }
  return r.done();
}

Digest KvMachine::digest() const {
  HashSink sink;
  Shards shards;
  for (const auto& slot : slots_) shards.push_back(slot.shard);
  write_shards(shards, sink);
  return sink.hash.digest();
}

std::optional<std::string> KvMachine::get(std::string_view key) const {
  const auto& shard = *slot_of(key).shard;
  const auto at = shard.find(key);
  if (at == shard.end()) return std::nullopt;
  return at->second;
}

}  // namespace skein::inline v0::journal
