// Who wants to know what becomes of a name, and what they are told.
//
// Any thread may call; who changes a name holds its entry's lock meanwhile, so that watchers are told in the order in
// which things happened. With nobody watching, telling costs one load.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/registry/registry_types.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

enum class WatchMode : std::uint8_t {
  info,     // told until the name is unregistered, which ends the watch
  follow,   // told at once who has it, then of everything, also of the next owner
  standby,  // takes the name over when its owner leaves it or dies
};

enum class NameChange : std::uint8_t {
  registered,    // `pid` took the name
  unregistered,  // `previous` left it or died; nobody has it
  migrated,      // `previous` gave it to `pid`
  failover,      // `previous` left it or died, and the standby `pid` has it now
};

struct WatchRef {
  std::uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
  friend bool operator==(WatchRef, WatchRef) = default;
};

// Delivered to handle_info of who watches.
struct NameEvent {
  WatchRef ref;
  NameChange change = NameChange::registered;
  Pid pid;
  Pid previous;
  std::string name;
};

namespace detail {

class NameWatches {
 public:
  NameWatches(Runtime& runtime, std::uint32_t limit) : runtime_(runtime), limit_(limit) {}

  // A watch that ended, to be untied from who had it.
  using Ended = std::vector<std::pair<Pid, std::uint64_t>>;

  [[nodiscard]] RegistryResult<WatchRef> add(std::string_view name, Pid watcher, WatchMode mode);
  // Who had it; nobody if it has ended.
  Pid remove(WatchRef ref);
  // Tells one watcher.
  void tell_one(WatchRef ref, Pid watcher, NameChange change, std::string_view name, Pid pid, Pid previous) const;
  // Tells all watchers of the name.
  [[nodiscard]] Ended tell(std::string_view name, NameChange change, Pid pid, Pid previous);
  // The oldest living standby that is not `except`; it is no standby any more.
  [[nodiscard]] std::optional<std::pair<Pid, WatchRef>> take_heir(std::string_view name, Pid except);
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] std::uint32_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  struct Watch {
    std::uint64_t id;
    Pid watcher;
    WatchMode mode;
  };
  using ByName = boost::unordered_flat_map<std::string, std::vector<Watch>>;

  // Holding mutex_.
  void erase(ByName::iterator at, std::size_t i);

  Runtime& runtime_;
  std::uint32_t limit_;
  std::atomic<std::uint32_t> count_{0};
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  ByName by_name_;
  boost::unordered_flat_map<std::uint64_t, std::string> names_;  // by id
};

// Ids of watches are even, those of subscriptions odd: one record of an owner holds both.
[[nodiscard]] constexpr bool is_watch_id(std::uint64_t id) { return id % 2 == 0; }

}  // namespace detail
}  // namespace skein::inline v0
