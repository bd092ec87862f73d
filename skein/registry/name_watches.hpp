// The watches of names: which processes want to know what becomes of a name, and what they are told.
//
// Any thread may call; a thread that changes a name holds its entry's lock, so that watchers are told in the order in
// which things happened. With nobody watching, telling costs one load. An event gets into a mailbox that is full for
// others, as a Down does, until `backlog` messages wait there: what comes then is dropped and counted.
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
  follow,   // told at once who has the name, then of everything, also of the next owner
  standby,  // takes the name over when its owner leaves it or dies
};

enum class NameChange : std::uint8_t {
  registered,    // `pid` took the name
  unregistered,  // `previous` left it or died; nobody has it
  migrated,      // `previous` gave it to `pid`
  failover,      // `previous` left it or died, and the standby `pid` has it now
  emptied,       // `previous` was the last to have a resource of that name (watch_resource)
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
  NameWatches(Runtime& runtime, std::uint32_t limit, std::uint32_t backlog, std::uint64_t first_id)
      : runtime_(runtime), limit_(limit), backlog_(backlog), next_(first_id) {}

  // A watch that ended, to be removed from its watcher.
  using Ended = std::vector<std::pair<Pid, std::uint64_t>>;

  [[nodiscard]] RegistryResult<WatchRef> add(std::string_view name, Pid watcher, WatchMode mode);
  // For a watch that is over when it begins.
  [[nodiscard]] WatchRef add_nothing();
  // The process that watched; nobody if the watch has ended.
  Pid remove(WatchRef ref);
  // Tells one watcher.
  void tell_one(WatchRef ref, Pid watcher, NameChange change, std::string_view name, Pid pid, Pid previous);
  // Tells all watchers of the name.
  [[nodiscard]] Ended tell(std::string_view name, NameChange change, Pid pid, Pid previous);
  // The oldest living standby that is not `except`; it is no standby any more.
  [[nodiscard]] std::optional<std::pair<Pid, WatchRef>> take_heir(std::string_view name, Pid except);
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

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
  std::uint32_t backlog_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> dropped_{0};
  mutable std::mutex mutex_;
  std::uint64_t next_;
  ByName by_name_;
  boost::unordered_flat_map<std::uint64_t, std::string> names_;  // by id
};

// One record of an owner holds ids of all three kinds: subscriptions have odd ones, watches even ones, in steps of
// four.
inline constexpr std::uint64_t k_watch_step = 4;
inline constexpr std::uint64_t k_first_name_watch = 4;
inline constexpr std::uint64_t k_first_resource_watch = 2;
[[nodiscard]] constexpr bool is_name_watch_id(std::uint64_t id) { return id % k_watch_step == 0; }
[[nodiscard]] constexpr bool is_resource_watch_id(std::uint64_t id) { return id % k_watch_step == 2; }

}  // namespace detail
}  // namespace skein::inline v0
