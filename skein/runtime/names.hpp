// Local names: one process per name, one name per process. Any thread may call; readers do not wait for readers.
//
// A name has one holder from claim to release, and only its holder frees it. That a process has one name at most is
// seen to by who claims (Self, claim_slot). What each() calls must not claim or release.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "skein/runtime/pid.hpp"

namespace skein::inline v0::detail {

class Names {
 public:
  // The holder afterwards: `pid` if the name was free, else the present holder.
  Pid claim(std::string_view name, Pid pid) {
    Shard& shard = shard_of(name);
    const std::unique_lock lock(shard.mutex);
    return shard.holders.try_emplace(std::string(name), pid).first->second;
  }
  // Frees the name if `pid` holds it.
  void release(std::string_view name, Pid pid) {
    Shard& shard = shard_of(name);
    const std::unique_lock lock(shard.mutex);
    const auto found = shard.holders.find(name);
    if (found != shard.holders.end() && found->second == pid) shard.holders.erase(found);
  }
  [[nodiscard]] Pid find(std::string_view name) {
    Shard& shard = shard_of(name);
    const std::shared_lock lock(shard.mutex);
    const auto found = shard.holders.find(name);
    return found == shard.holders.end() ? Pid{} : found->second;
  }
  // Calls back with every name and its holder.
  template <class F>
  void each(F&& call) {
    for (Shard& shard : shards_) {
      const std::shared_lock lock(shard.mutex);
      for (const auto& [name, pid] : shard.holders) call(name, pid);
    }
  }
  // The same without waiting: names that are being changed at this moment are left out.
  template <class F>
  void try_each(F&& call) {
    for (Shard& shard : shards_) {
      const std::shared_lock lock(shard.mutex, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      for (const auto& [name, pid] : shard.holders) call(name, pid);
    }
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Shard {
    std::shared_mutex mutex;
    boost::unordered_flat_map<std::string, Pid, Hash, std::equal_to<>> holders;
  };
  Shard& shard_of(std::string_view name) { return shards_[Hash{}(name) % shards_.size()]; }

  std::array<Shard, 16> shards_;
};

}  // namespace skein::inline v0::detail
