// OsProcesses: the OS processes of a node, seen from the node.
//
// Every member may be called from any thread, also from inside a process; none waits, except the destructor. What
// happens is told to the owner, a process of the runtime, by the messages of os_process.hpp, which get in also when its
// mailbox is full. How much that can be is limited by stdout_window: an owner that consumes nothing stops the writer.
//
// - An OS process whose owner dies is killed, with everything it started.
// - So is what an OS process leaves behind when it ends by itself: afterwards nothing that it started lives.
// - Ends are told also when a keeper is stopped (SIGSTOP): it is continued, or replaced.
// - Guard and launcher may die, also together: what ran is told ended, new ones are started at once, and what is to
//   start waits for them, however long that takes.
// - A write never blocks: what the pipe does not take is queued, up to stdin_bytes_max.
// - The destructor kills everything and waits until it is gone; owners are not told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/base/descriptor_budget.hpp"
#include "skein/launcher/launcher.hpp"
#include "skein/launcher/os_process.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::launcher {

class OsIo;

struct OsProcessesOptions {
  std::size_t processes_max = 4'096;  // started and waiting to be; each takes five descriptors of the node
  std::size_t idle_keepers_max = 64;  // kept for the next starts
  // Somebody starts owner_watch() under a supervisor; until then the death of an owner is noticed later.
  bool is_watch_supervised = false;
  // OS processes to be started wait while this has no room. Null: descriptors are not counted.
  std::shared_ptr<DescriptorBudget> descriptors{};
  // Folders that programs with a private view do not see.
  std::vector<std::string> hidden{};
  // A keeper with such a view is made at the beginning, so that private_problem() knows whether there can be one.
  bool tries_private = false;
};

struct OsCounts {
  std::size_t processes = 0;  // not yet ended, those that wait to be started included
  std::size_t keepers = 0;
  std::size_t idle_keepers = 0;
  std::uint64_t started = 0;
  std::uint64_t start_failures = 0;
  std::uint64_t exited = 0;
  std::uint64_t launcher_deaths = 0;
  std::uint64_t guard_deaths = 0;
  pid_t launcher = 0;
  pid_t guard = 0;
};

class OsProcesses {
 public:
  // Throws std::runtime_error when no launcher can be started; the text says why. Both must outlive this.
  explicit OsProcesses(Runtime& runtime, Launcher& launcher, OsProcessesOptions options = {});
  ~OsProcesses();
  OsProcesses(const OsProcesses&) = delete;
  OsProcesses& operator=(const OsProcesses&) = delete;

  // OsStarted or OsStartFailed follows.
  OsId spawn(Pid owner, OsSpec spec);
  // All or nothing; false when the queue has no room, or nobody can read it any more.
  [[nodiscard]] bool write(OsId id, std::string bytes);
  // Closes its stdin once what is queued was taken.
  void close_stdin(OsId id);
  // The owner is done with so many bytes of OsOutput.
  void consumed(OsId id, std::size_t bytes);
  // To its whole group; false when there is no such process (any more). One whose start is under way gets it then; one
  // that waits for its turn never starts after SIGTERM (OsStartFailed follows), others are lost. Zero only asks.
  bool signal(OsId id, int signal);
  // SIGTERM to it and everything it started, also in other groups and sessions; what is still there after `grace`, the
  // program or others, gets SIGKILL. OsExited follows when all are gone. One that waits for its turn never starts.
  // False: there is no such process.
  bool terminate(OsId id, std::chrono::milliseconds grace);
  // SIGKILL to it, its group and every descendant. OsExited follows, or OsStartFailed if it was not yet started.
  void kill(OsId id);
  // The last bytes it wrote to stderr, from the position `from` on; empty when it is gone.
  [[nodiscard]] std::string stderr_tail(OsId id, std::uint64_t from = 0) const;
  // How many bytes it has written there until now; 0 when it is gone.
  [[nodiscard]] std::uint64_t stderr_total(OsId id) const;
  [[nodiscard]] OsCounts counts() const;
  // Why nothing can be started at the moment, and what to do; empty: all is well. What is to start waits meanwhile.
  [[nodiscard]] std::string problem() const;
  // Why no private view can be had, and what to do; empty: it can, or nobody has tried.
  [[nodiscard]] std::string private_problem() const;
  // How it keeps hold of what programs start, for people: a control group, or why there is none.
  [[nodiscard]] static const std::string& containment();
  // The process that learns of the death of owners, for a supervisor.
  [[nodiscard]] ChildSpec owner_watch() const;

 private:
  std::shared_ptr<OsIo> io_;
};

}  // namespace skein::inline v0::launcher
