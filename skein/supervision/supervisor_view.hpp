// What a supervisor shares with readers of the tree and with its parent: its table of children, under a lock.
//
// Writers: the supervisor's own process, which alone changes it, under `mutex`; that process reads without the lock.
// Everyone else reads under `mutex`, for a short time. `remains` is the exception: any dying supervisor below adds to
// it. A view outlives its supervisor for as long as somebody holds it.
//
// Remains: a supervisor that is killed leaves its children dying by their links. Its view tells the nearest living
// supervisor above who they were, before anybody learns of the death, so that no restart begins beside them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "skein/runtime/inspect.hpp"
#include "skein/supervision/children.hpp"
#include "skein/supervision/events.hpp"

namespace skein::inline v0 {

// Processes that a dead supervisor left behind.
struct Remains {
  Pid of;
  std::vector<Pid> pids;
};

struct SupervisorView {
  SupervisorView() : window(1, std::chrono::seconds(5)) {}

  std::mutex mutex;
  Pid pid;
  std::string name;
  SupervisorFlags flags;
  RestartWindow window;
  Children children;
  std::shared_ptr<const ChildSpec> pool_template;
  std::size_t leftovers = 0;  // processes of dead child supervisors, still dying
  std::uint64_t memory_releases = 0;
  std::shared_ptr<const EventSink> sink;
  std::shared_ptr<SupervisorView> parent;  // until the supervisor is dead and has handed over

  // Adds to the nearest living supervisor at or above this one; nobody there: nobody will restart anything either.
  static void hand_over(std::shared_ptr<SupervisorView> view, Remains remains);
  [[nodiscard]] std::vector<Remains> take_remains();
  [[nodiscard]] bool has_remains() const { return any_remains_.load(std::memory_order_acquire); }
  // The supervisor is dead: what comes from below goes on to its parent, with what `remains` of it.
  void close(Remains remains);

 private:
  std::mutex remains_mutex_;
  std::vector<Remains> remains_;
  bool closed_ = false;  // under remains_mutex_, as is parent once closed
  std::atomic<bool> any_remains_{false};
};

namespace detail {

// The views of one runtime's supervisors, by Pid. Any thread.
void publish_view(inspect::RuntimeRef runtime, Pid pid, const std::shared_ptr<SupervisorView>& view);
void withdraw_view(inspect::RuntimeRef runtime, Pid pid);
[[nodiscard]] std::shared_ptr<SupervisorView> find_view(inspect::RuntimeRef runtime, Pid pid);

}  // namespace detail
}  // namespace skein::inline v0
