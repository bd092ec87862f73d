// A small key-value machine: the journal's example and the machine of its tests.
//
// Keys are spread over shards by a fixed hash, and over buckets within a shard. What a snapshot may still be reading is
// copied before it is changed: of a shard its pointers, of a bucket its keys. So freeze() costs one pointer per shard,
// and a command after it pays for a few pointers and keys, not for a shard of them: of 200,000 keys, 1,000 commands in
// one batch would else copy half, while all else waits.
// One thread, but for the frozen copies (see machine.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "skein/journal/machine.hpp"

namespace skein::inline v0::journal {

// Commands, as bytes for append().
[[nodiscard]] std::string kv_put(std::string_view key, std::string_view value);
[[nodiscard]] std::string kv_erase(std::string_view key);
// Adds to a decimal number and answers the sum; a missing key counts as 0.
[[nodiscard]] std::string kv_add(std::string_view key, std::uint64_t amount);

class KvMachine {
 public:
  static constexpr std::size_t k_shards = 1024;
  static constexpr std::size_t k_buckets = 64;  // of a shard
  struct Bucket {
    std::uint64_t epoch = 0;  // of freezing, when it was made
    std::map<std::string, std::string, std::less<>> keys;
  };
  struct Shard {
    std::uint64_t epoch = 0;
    std::array<std::shared_ptr<Bucket>, k_buckets> buckets;  // none while empty
  };

  KvMachine();

  // "ok", "none", a number, or "bad command".
  std::string apply(Position position, std::string_view bytes);
  std::shared_ptr<const Frozen> freeze();
  bool restore(std::string_view bytes);
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Bucket& writable(std::string_view key);

  std::array<std::shared_ptr<Shard>, k_shards> shards_;  // none while empty
  std::uint64_t epoch_ = 0;
  std::size_t size_ = 0;
};

}  // namespace skein::inline v0::journal
