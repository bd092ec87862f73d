// A small key-value machine: the journal's example and the machine of its tests.
//
// Keys are spread over shards by a fixed hash. A shard that a snapshot may still be reading is copied before it is
// changed, so freeze() costs one pointer per shard and the copies are paid shard by shard, at most once per snapshot.
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
  using Shard = std::map<std::string, std::string, std::less<>>;

  KvMachine();

  // "ok", "none", a number, or "bad command".
  std::string apply(Position position, std::string_view bytes);
  std::shared_ptr<const Frozen> freeze();
  bool restore(std::string_view bytes);
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::shared_ptr<Shard> shard;
    std::uint64_t epoch = 0;  // of freezing, when the shard was made
  };

  [[nodiscard]] const Slot& slot_of(std::string_view key) const;
  Shard& writable(std::string_view key);

  std::array<Slot, k_shards> slots_;
  std::uint64_t epoch_ = 0;
  std::size_t size_ = 0;
};

}  // namespace skein::inline v0::journal
