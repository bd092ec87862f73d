#include "skein/journal/kv_machine.hpp"

#include <algorithm>
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

std::size_t shard_of(std::uint32_t hash) { return hash % KvMachine::k_shards; }
std::size_t bucket_of(std::uint32_t hash) { return hash / KvMachine::k_shards % KvMachine::k_buckets; }

// A shard's keys in their order, whatever bucket they are in.
void write_shards(const Shards& shards, SnapshotSink& sink) {
  std::string out;
  std::vector<std::pair<std::string_view, std::string_view>> keys;
  for (const auto& shard : shards) {
    keys.clear();
    for (std::size_t i = 0; shard && i < KvMachine::k_buckets; ++i) {
      if (shard->buckets[i]) keys.insert(keys.end(), shard->buckets[i]->keys.begin(), shard->buckets[i]->keys.end());
    }
    std::ranges::sort(keys);
    out.clear();
    ByteWriter w(out);
    w.u64(keys.size());
    for (const auto& [key, value] : keys) {
      w.blob(key);
      w.blob(value);
    }
    sink.write(out);
  }
}

// What is written to from now on: a new one, the same, or a copy that belongs to this epoch.
template <class T>
T& own(std::shared_ptr<T>& shared, std::uint64_t epoch) {
  if (!shared) {
    shared = std::make_shared<T>();
  } else if (shared->epoch != epoch) {
    shared = std::make_shared<T>(*shared);
  }
  shared->epoch = epoch;
  return *shared;
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

KvMachine::KvMachine() = default;

KvMachine::Bucket& KvMachine::writable(std::string_view key) {
  const std::uint32_t hash = crc32c(key);
  Shard& shard = own(shards_[shard_of(hash)], epoch_);
  return own(shard.buckets[bucket_of(hash)], epoch_);
}

std::string KvMachine::apply(Position, std::string_view bytes) {
  ByteReader r(bytes);
  const auto op = static_cast<Op>(r.u8());
  const auto key = r.blob();
  const auto value = r.blob();
  if (!r.done() || op < Op::put || op > Op::add) return "bad command";
  auto& shard = writable(key).keys;
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
  return std::make_shared<FrozenShards>(Shards(shards_.begin(), shards_.end()));
}

bool KvMachine::restore(std::string_view bytes) {
  ByteReader r(bytes);
  size_ = 0;
  for (std::size_t i = 0; i < k_shards; ++i) {
    shards_[i].reset();
    const std::uint64_t count = r.u64();
    for (std::uint64_t n = 0; n < count && r.ok(); ++n) {
      const auto key = r.blob();
      const auto value = r.blob();
      if (!r.ok() || shard_of(crc32c(key)) != i || !writable(key).keys.emplace(key, value).second) return false;
      ++size_;
    }
  }
  return r.done();
}

Digest KvMachine::digest() const {
  HashSink sink;
  write_shards(Shards(shards_.begin(), shards_.end()), sink);
  return sink.hash.digest();
}

std::optional<std::string> KvMachine::get(std::string_view key) const {
  const std::uint32_t hash = crc32c(key);
  const auto& shard = shards_[shard_of(hash)];
  if (!shard || !shard->buckets[bucket_of(hash)]) return std::nullopt;
  const auto& keys = shard->buckets[bucket_of(hash)]->keys;
  const auto at = keys.find(key);
  if (at == keys.end()) return std::nullopt;
  return at->second;
}

}  // namespace skein::inline v0::journal
