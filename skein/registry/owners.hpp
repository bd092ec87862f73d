// Ownership: for each process its entries, and the ids of its watches and subscriptions.
//
// Any thread may call. A process has a record from the first thing it owns until forget, also while it owns nothing, so
// that taking and leaving a name again and again costs no monitor each time.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "skein/registry/entry_table.hpp"

namespace skein::inline v0::detail {

class Owners {
 public:
  explicit Owners(EntryTable& entries) : entries_(entries) {}

  // Call it with the entry's lock held. True: the process had no record, so it must be monitored.
  [[nodiscard]] bool link(Pid owner, std::uint32_t index);
  void unlink(Pid owner, std::uint32_t index);
  // The same for ids.
  [[nodiscard]] bool tie(Pid owner, std::uint64_t id);
  void untie(Pid owner, std::uint64_t id);

  struct Owned {
    KeyKind kind;
    std::string text;
  };
  // One of its entries, or nothing.
  [[nodiscard]] std::optional<Owned> first(Pid owner) const;
  // Ends the record if the process owns no entry, and returns its ids; nothing while it owns one.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> forget(Pid owner);
  [[nodiscard]] std::vector<Pid> all() const;

 private:
  struct Record {
    std::uint32_t first = EntryTable::k_none;
    std::unique_ptr<boost::unordered_flat_set<std::uint64_t>> ids;
  };
  struct Shard {
    alignas(64) mutable std::mutex mutex;
    boost::unordered_flat_map<std::uint64_t, Record> records;
  };
  static constexpr std::size_t k_shards = 64;

  [[nodiscard]] Shard& shard_of(Pid owner) { return shards_[std::hash<Pid>{}(owner) % k_shards]; }
  [[nodiscard]] const Shard& shard_of(Pid owner) const { return shards_[std::hash<Pid>{}(owner) % k_shards]; }

  EntryTable& entries_;
  std::array<Shard, k_shards> shards_;
};

}  // namespace skein::inline v0::detail
