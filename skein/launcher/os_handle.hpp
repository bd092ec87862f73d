// One OS process as the node holds it: its pipes, what waits for its stdin, and how far its owner has read.
//
// The IO thread and callers of OsProcesses share it. `mutex` guards the members above the line; those below
// belong to the IO thread alone. A descriptor above the line is closed under the mutex only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "skein/base/descriptor_budget.hpp"
#include "skein/base/fd.hpp"
#include "skein/launcher/os_process.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0::launcher {

// The last bytes of a stream.
class TailBuffer {
 public:
  explicit TailBuffer(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  void add(const char* bytes, std::size_t count);
  // Of what came at the position `from` and later.
  [[nodiscard]] std::string text(std::uint64_t from = 0) const;
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  std::size_t bytes_max_;
  std::uint64_t total_ = 0;
  std::string bytes_;  // up to twice bytes_max_, so that bytes are rarely moved
};

enum class WriteResult : std::uint8_t { all, some, broken };

struct OsHandle {
  OsHandle(OsId its_id, Pid its_owner, OsSpec its_spec)
      : id(its_id), owner(its_owner), spec(std::move(its_spec)), stderr_tail(spec.stderr_ring) {}

  // Takes or queues all of it; false when there is no room or nobody reads. With the mutex held.
  [[nodiscard]] bool write(std::string bytes);
  // Writes what is queued, as far as the pipe takes it, and closes stdin when that was wanted. With the mutex held.
  void flush();

  const OsId id;
  const Pid owner;
  OsSpec spec;
  std::mutex mutex;
  Fd stdin_end;
  Fd stdout_end;
  Fd pidfd;
  std::deque<std::string> queue;
  std::size_t queued = 0;
  std::size_t front_taken = 0;  // of the first in the queue
  bool started = false;
  bool exited = false;
  bool stdin_closing = false;  // close when the queue is empty
  bool stdin_closed = false;
  bool paused = false;  // stdout is not watched, the window is full
  bool kill_wanted = false;
  std::size_t unconsumed = 0;
  TailBuffer stderr_tail;
  // ---- the IO thread's own
  Fd stderr_end;
  std::uint64_t keeper = 0;
  int attempts = 0;
  bool end_wanted = false;                            // by a kill or a SIGTERM
  bool has_ended = false;                             // as its pidfd says; how, only its keeper knows
  std::chrono::steady_clock::time_point grace_until;  // its keeper may wait for what it left until then
  OsExited exit;
  bool draining = false;
  std::chrono::steady_clock::time_point drain_until;
  bool output_ended = false;
  DescriptorPlace place;  // for what of it is open here
};

}  // namespace skein::inline v0::launcher
