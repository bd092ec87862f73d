// OsIo: the one thread that does all input and output with launchers, keepers and OS processes, by epoll.
//
// Requests for a launcher wait while there is none. A dead one is replaced as soon as its death is noticed. If that
// fails, it is tried again after a while. Until then problem() says why.
//
// Calls from other threads either work on one handle under its mutex (write, consumed), or are left as commands for the
// thread. Lock order: table, then a handle; nothing else is done under the table's. Nothing here blocks the thread, but
// for the start of another launcher, when none lives and so nothing runs.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "skein/base/pause_clock.hpp"
#include "skein/launcher/os_handle.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

class OsIo : public std::enable_shared_from_this<OsIo> {
 public:
  OsIo(Runtime& runtime, Launcher& launcher, OsProcessesOptions options);
  ~OsIo();
  OsIo(const OsIo&) = delete;
  OsIo& operator=(const OsIo&) = delete;

  // Starts a launcher and the thread; throws std::runtime_error.
  void begin();
  // Ends everything and waits for it.
  void end();

  OsId spawn(Pid owner, OsSpec spec);
  [[nodiscard]] std::shared_ptr<OsHandle> find(OsId id) const;
  bool write(OsId id, std::string bytes);
  void close_stdin(OsId id);
  void consumed(OsId id, std::size_t bytes);
  bool signal(OsId id, int signal);
  bool terminate(OsId id, std::chrono::milliseconds grace);
  void kill(OsId id);
  // Of what it has written until now, also what was not read yet.
  [[nodiscard]] std::string stderr_tail(OsId id, std::uint64_t from) const;
  [[nodiscard]] std::uint64_t stderr_total(OsId id) const;
  void owner_died(Pid owner);
  // From now on this process is told whose death to watch for, beginning with all there are.
  void watch_owners_by(Pid watch);
  [[nodiscard]] OsCounts counts() const;
  // Why nothing can be started at the moment; empty when starts are possible.
  [[nodiscard]] std::string problem() const;
  // Why no private view can be had. Set by begin().
  [[nodiscard]] const std::string& private_problem() const { return private_problem_; }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr const char* k_never_began = "killed before it started";

  enum class Source : std::uint8_t { wake, guard, launcher, keeper, in, out, err, exit };
  enum class CommandKind : std::uint8_t { start, signal, terminate, kill, owner_died };
  struct Command {
    CommandKind kind{};
    OsId id = 0;
    int signal = 0;
    std::chrono::milliseconds grace{};
    Pid owner{};
  };
  struct Keeper {
    Fd socket;
    pid_t pid = 0;
    bool is_private = false;
    OsId process = 0;             // what it keeps; zero when idle
    std::uint64_t awaited = 0;    // the number of the answer it owes; zero: none
    Clock::time_point owes_from;  // since when it owes one
  };
  // Keepers with a private view are for programs that are to have one, and no others.
  struct Pool {
    std::vector<std::uint64_t> idle;
    std::size_t asked = 0;     // keepers that the launcher is making
    std::deque<OsId> waiting;  // for a keeper
  };
  // An answer that must come by then. The launcher's have the keeper 0.
  struct Due {
    Clock::time_point at;
    std::uint64_t keeper = 0;
    std::uint64_t number = 0;
  };

  // The thread's clock. It stands still while the whole program does, so that a pause makes no peer late.
  [[nodiscard]] Clock::time_point time() const;

  // os_io.cpp: commands, and the loop
  void command(Command command);
  void run();
  void take_commands();
  void take(const Command& command);
  void take_event(Source source, std::uint64_t id);
  [[nodiscard]] int wait_ms() const;
  bool watch(int fd, std::uint32_t events, Source source, std::uint64_t id);
  void watch_owner(Pid owner);

  // os_io_keepers.cpp: launchers and keepers
  [[nodiscard]] Pool& pool_of(bool is_private) { return pools_[is_private ? 1 : 0]; }
  [[nodiscard]] std::size_t idle_keepers() const { return pools_[0].idle.size() + pools_[1].idle.size(); }
  [[nodiscard]] std::vector<std::uint64_t> all_idle() const;
  bool ask_keeper(bool is_private, bool wait);
  void try_private();
  void take_keeper(bool is_private, Packet& packet);
  void start_waiting();
  // False: there is no place for the next one now; it is looked for again soon.
  bool start_waiting(bool is_private);
  // False: there is none now; it is looked for again soon.
  [[nodiscard]] bool has_place(OsHandle& handle);
  void tell_of_places(bool are_wanting);
  void give(std::uint64_t keeper_id, Keeper& keeper, const std::shared_ptr<OsHandle>& handle);
  void take_launcher_packets();
  void take_keeper_packets(std::uint64_t keeper_id);
  void take_keeper_packet(std::uint64_t keeper_id, Keeper& keeper, Packet& packet);
  void take_started(Keeper& keeper, Packet& packet);
  void set_idle(std::uint64_t keeper_id, Keeper& keeper);
  void drop_keeper(std::uint64_t keeper_id);
  void launcher_died();
  void bring_back();
  void guard_died();
  void watch_guard();
  void fail_oldest(bool is_private, const std::string& why);

  // os_io_silence.cpp: keepers and launchers that do not answer
  void expect_answer(std::uint64_t keeper_id);
  void answered(std::uint64_t keeper_id);
  [[nodiscard]] std::uint64_t awaited_of(std::uint64_t keeper_id) const;
  void take_silence();
  void forget_answered();
  void is_silent(std::uint64_t keeper_id);
  // When a keeper is given up that has owed this process an answer all the time.
  [[nodiscard]] static Clock::time_point replaced_at(const Keeper& keeper, const OsHandle& handle);

  // os_io_pipes.cpp: pipes, and how a process ends
  void read_stdout(OsHandle& handle);
  void read_stderr(OsHandle& handle);
  void end_stdout(OsHandle& handle);
  void drain(const std::shared_ptr<OsHandle>& handle, bool now);
  void finish(const std::shared_ptr<OsHandle>& handle);
  void fail(const std::shared_ptr<OsHandle>& handle, std::string why);
  void forget(OsHandle& handle);
  void finish_overdue();

  Runtime& runtime_;
  Launcher& launcher_;
  const OsProcessesOptions options_;
  Pid own_watch_;  // when nobody supervises one
  Fd epoll_;
  Fd wake_;
  std::atomic<bool> ending_{false};
  std::thread thread_;

  mutable std::mutex table_mutex_;
  std::unordered_map<OsId, std::shared_ptr<OsHandle>> table_;  // guarded by table_mutex_
  std::unordered_set<Pid> owners_;                             // watched; guarded by table_mutex_
  Pid owner_watch_;                                            // by whom; guarded by table_mutex_
  OsId next_id_ = 1;                                           // guarded by table_mutex_
  std::mutex commands_mutex_;
  std::vector<Command> commands_;  // guarded by commands_mutex_
  mutable std::mutex problem_mutex_;
  std::string problem_;  // guarded by problem_mutex_
  std::string private_problem_;

  // The thread's own.
  mutable PauseClock clock_;
  Launcher::Line line_;
  Launcher::Watch guard_;
  std::optional<Clock::time_point> bring_back_at_;
  Clock::duration bring_back_wait_{};
  std::optional<Clock::time_point> place_at_;  // when descriptors are looked for again
  bool lacks_place_ = false;
  std::unordered_map<std::uint64_t, Keeper> keepers_;
  std::array<Pool, 2> pools_;  // plain, private
  std::uint64_t next_keeper_ = 1;
  std::deque<Due> dues_;  // in the order in which they fall due
  std::uint64_t next_due_ = 1;
  std::uint64_t launcher_awaited_ = 0;  // as Keeper::awaited
  std::vector<OsId> draining_;          // ended, but their pipes may still bring something

  struct {
    std::atomic<std::size_t> keepers{0}, idle{0};
    std::atomic<std::uint64_t> started{0}, failed{0}, exited{0}, launcher_deaths{0}, guard_deaths{0};
    std::atomic<pid_t> launcher{0};
  } counts_;
};

}  // namespace skein::inline v0::launcher
