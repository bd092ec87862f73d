// How OsIo deals with launchers and keepers: who starts the next process, and what happens when one of them dies.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/os_io.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr const char* k_no_fds = "no file descriptors left in the node; raise its limit on open files (ulimit -n)";
constexpr const char* k_no_place =
    "no descriptors are left for a further program; it waits for others to end: raise the limit on open files (ulimit "
    "-n)";
constexpr std::size_t k_process_descriptors = 5;  // three pipes, the process itself and its keeper
constexpr std::chrono::milliseconds k_place_look{20};
constexpr const char* k_lost_start = "its keepers died or gave no answer while it was being started";
// A process whose keeper dies before it was told started gets another one.
constexpr int k_start_attempts = 3;
// When no launcher or guard can be started: until the next try, doubled up to the last.
constexpr std::chrono::milliseconds k_bring_back_first{100};
constexpr std::chrono::milliseconds k_bring_back_last{5'000};

}  // namespace

void OsIo::start_waiting() {
  while (!waiting_.empty() && !idle_.empty()) {
    const std::uint64_t keeper_id = idle_.back();
    idle_.pop_back();
    counts_.idle = idle_.size();
    const auto keeper = keepers_.find(keeper_id);
    if (keeper == keepers_.end()) continue;
    const auto handle = find(waiting_.front());
    if (handle != nullptr && !has_place(*handle)) {
      idle_.push_back(keeper_id);
      counts_.idle = idle_.size();
      return;
    }
    waiting_.pop_front();
    if (handle != nullptr) give(keeper_id, keeper->second, handle);
  }
  if (waiting_.empty()) tell_of_places(false);
  // Only here is it known that nobody waits for them.
  while (idle_.size() > options_.idle_keepers_max) drop_keeper(idle_.back());
  // Without a launcher there is nobody to ask; bring_back() comes here again.
  while (line_.socket && keepers_asked_ < waiting_.size()) {
    // Full or gone: those asked for come first, and a dead one hangs up.
    if (!send_packet(line_.socket.get(), Kind::ask_keeper, {}, {}, false)) return;
    ++keepers_asked_;
    if (launcher_awaited_ == 0) expect_answer(0);
  }
}

bool OsIo::has_place(OsHandle& handle) {
  if (!handle.place && options_.descriptors) handle.place = options_.descriptors->admit_process(k_process_descriptors);
  const bool has_it = handle.place || !options_.descriptors;
  if (!has_it) place_at_ = time() + k_place_look;
  tell_of_places(!has_it);
  return has_it;
}

void OsIo::tell_of_places(bool are_wanting) {
  if (std::exchange(lacks_place_, are_wanting) == are_wanting) return;
  const std::scoped_lock lock(problem_mutex_);
  problem_ = are_wanting ? k_no_place : std::string();
}

void OsIo::give(std::uint64_t keeper_id, Keeper& keeper, const std::shared_ptr<OsHandle>& handle) {
  keeper.process = handle->id;
  handle->keeper = keeper_id;
  ++handle->attempts;
  // One that died just now, or takes no packets, is of no use.
  if (!send_packet(keeper.socket.get(), Kind::ask_start, encode_spec(handle->spec), {}, false)) {
    return drop_keeper(keeper_id);
  }
  expect_answer(keeper_id);
}

void OsIo::take_launcher_packets() {
  for (;;) {
    Packet packet;
    const Got got = line_.socket ? receive_packet(line_.socket.get(), packet, false) : Got::nothing;
    if (got == Got::nothing) break;
    if (got == Got::closed) {
      launcher_died();
      break;
    }
    answered(0);
    if (keepers_asked_ > 0) --keepers_asked_;
    if (keepers_asked_ > 0) expect_answer(0);
    if (packet.kind == Kind::failed) {
      fail_oldest(fmt::format("the launcher cannot fork: {}", packet.body));
    } else if (packet.fds.empty()) {
      fail_oldest(k_no_fds);
    } else {
      const std::uint64_t keeper_id = next_keeper_++;
      Keeper& keeper = keepers_[keeper_id];
      keeper.socket = std::move(packet.fds[0]);
      keeper.pid = static_cast<pid_t>(decode_number(packet.body));
      counts_.keepers = keepers_.size();
      if (watch(keeper.socket.get(), EPOLLIN, Source::keeper, keeper_id)) {
        idle_.push_back(keeper_id);
        counts_.idle = idle_.size();
      } else {
        drop_keeper(keeper_id);
        fail_oldest(k_no_fds);
      }
    }
  }
  start_waiting();
}

void OsIo::take_keeper_packets(std::uint64_t keeper_id) {
  for (;;) {
    const auto at = keepers_.find(keeper_id);
    if (at == keepers_.end()) break;
    Packet packet;
    const Got got = receive_packet(at->second.socket.get(), packet, false);
    if (got == Got::nothing) break;
    if (got == Got::closed) {
      drop_keeper(keeper_id);
    } else {
      take_keeper_packet(keeper_id, at->second, packet);
    }
  }
  start_waiting();
}

void OsIo::take_keeper_packet(std::uint64_t keeper_id, Keeper& keeper, Packet& packet) {
  const auto handle = find(keeper.process);
  // Of the one before, which had ended already: it still owes the answer to this start.
  if (packet.kind == Kind::ending && handle != nullptr && !handle->started) return;
  answered(keeper_id);
  switch (packet.kind) {
    case Kind::ending:
      // Crossed by an end that it has still to tell.
      if (handle != nullptr && handle->has_ended) expect_answer(keeper_id);
      return;
    case Kind::started:
      return take_started(keeper, packet);
    case Kind::failed:
      if (handle != nullptr) fail(handle, std::string(packet.body));
      return set_idle(keeper_id, keeper);
    case Kind::exited: {
      const ExitNote note = decode_exit(packet.body);
      if (handle != nullptr) {
        handle->exit.signalled = WIFSIGNALED(note.status);
        handle->exit.code = WIFSIGNALED(note.status) ? WTERMSIG(note.status) : WEXITSTATUS(note.status);
        handle->exit.user_us = note.user_us;
        handle->exit.system_us = note.system_us;
        handle->exit.max_rss_bytes = note.max_rss_bytes;
        drain(handle, note.clean);
      }
      if (note.clean) set_idle(keeper_id, keeper);
      return;
    }
    case Kind::clean:
      if (handle != nullptr && handle->draining) finish(handle);
      return set_idle(keeper_id, keeper);
    default:
      return drop_keeper(keeper_id);
  }
}

void OsIo::take_started(Keeper& keeper, Packet& packet) {
  const auto handle = find(keeper.process);
  if (handle == nullptr) return;
  if (packet.fds.size() < k_packet_fds_max) {
    // The pipes are lost, so it cannot be used; it is killed, and the keeper says when that is done.
    send_packet(keeper.socket.get(), Kind::ask_kill, {}, {}, false);
    return fail(handle, fmt::format("cannot start '{}': {}", handle->spec.argv[0], k_no_fds));
  }
  const auto pid = static_cast<pid_t>(decode_number(packet.body));
  bool kill_it = false;
  bool watched = true;
  {
    const std::scoped_lock lock(handle->mutex);
    handle->started = true;
    handle->stdin_end = std::move(packet.fds[0]);
    handle->stdout_end = std::move(packet.fds[1]);
    handle->stderr_end = std::move(packet.fds[2]);
    handle->pidfd = std::move(packet.fds[3]);
    watched = watch(handle->stdin_end.get(), EPOLLOUT | EPOLLET, Source::in, handle->id) &&
              watch(handle->stdout_end.get(), EPOLLIN, Source::out, handle->id) &&
              watch(handle->stderr_end.get(), EPOLLIN, Source::err, handle->id) &&
              watch(handle->pidfd.get(), EPOLLIN | EPOLLONESHOT, Source::exit, handle->id);
    kill_it = handle->kill_wanted || !watched;
    handle->flush();
  }
  ++counts_.started;
  runtime_.notify(handle->owner, OsStarted{handle->id, pid});
  if (kill_it) send_packet(keeper.socket.get(), Kind::ask_kill, {}, {}, false);
}

void OsIo::set_idle(std::uint64_t keeper_id, Keeper& keeper) {
  keeper.process = 0;
  if (!line_.socket) return drop_keeper(keeper_id);
  idle_.push_back(keeper_id);
  counts_.idle = idle_.size();
}

// Closing the socket ends it, if it was not dead. What it kept dies with it.
void OsIo::drop_keeper(std::uint64_t keeper_id) {
  const auto at = keepers_.find(keeper_id);
  if (at == keepers_.end()) return;
  const auto handle = find(at->second.process);
  keepers_.erase(at);
  std::erase(idle_, keeper_id);
  counts_.keepers = keepers_.size();
  counts_.idle = idle_.size();
  if (handle == nullptr) return;
  if (!handle->started) {
    handle->keeper = 0;
    if (handle->end_wanted) return fail(handle, k_never_began);
    // Whoever killed it may have killed the idle ones as well; the next attempt is a new one's.
    for (const std::uint64_t idle : std::vector(idle_)) drop_keeper(idle);
    if (handle->attempts >= k_start_attempts) return fail(handle, k_lost_start);
    return waiting_.push_front(handle->id);
  }
  if (handle->draining) return finish(handle);
  handle->exit.signalled = true;
  handle->exit.code = SIGKILL;
  handle->exit.launcher_died = true;
  drain(handle, false);
}

// Its keepers see it too, kill what they keep, and hang up: each process is told ended when its keeper is.
void OsIo::launcher_died() {
  ++counts_.launcher_deaths;
  const Launcher::Line dead = std::exchange(line_, {});
  keepers_asked_ = 0;
  launcher_awaited_ = 0;
  for (const std::uint64_t keeper_id : std::vector(idle_)) drop_keeper(keeper_id);
  for (const auto& [keeper_id, keeper] : keepers_) {
    if (const auto handle = find(keeper.process)) handle->exit.launcher_died = true;
  }
  counts_.launcher = 0;
  bring_back_wait_ = k_bring_back_first;
  bring_back();
  // Its guard would have seen to it.
  if (launcher_.guard_pid() != dead.guard) NodeGroup::here().end_keepers(dead.pid);
}

// Whichever of launcher and guard is missing.
void OsIo::bring_back() {
  bring_back_at_.reset();
  std::string why;
  if (!line_.socket) {
    auto line = launcher_.start();
    if (line) {
      line_ = std::move(*line);
      counts_.launcher = line_.pid;
      watch(line_.socket.get(), EPOLLIN, Source::launcher, 0);
    } else {
      why = std::move(line.error());
    }
  }
  if (!guard_.socket) {
    if (auto renewed = launcher_.renew_guard(guard_.generation); !renewed && why.empty()) why = renewed.error();
    watch_guard();
    if (!guard_.socket && why.empty()) why = k_no_fds;
  }
  if (!why.empty()) {
    bring_back_at_ = time() + bring_back_wait_;
    bring_back_wait_ = std::min<Clock::duration>(bring_back_wait_ * 2, k_bring_back_last);
  }
  {
    const std::scoped_lock lock(problem_mutex_);
    problem_ = line_.socket ? std::string() : why;
  }
  start_waiting();
}

void OsIo::watch_guard() {
  guard_ = launcher_.watch_guard();
  if (guard_.socket) watch(guard_.socket.get(), EPOLLRDHUP, Source::guard, 0);
}

void OsIo::guard_died() {
  if (!guard_.socket) return;
  ++counts_.guard_deaths;
  // It is a copy: closing it would not take it out.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, guard_.socket.get(), nullptr);
  guard_.socket.reset();
  bring_back_wait_ = k_bring_back_first;
  bring_back();
}

void OsIo::fail_oldest(const std::string& why) {
  if (waiting_.empty()) return;
  const auto handle = find(waiting_.front());
  waiting_.pop_front();
  if (handle != nullptr) fail(handle, fmt::format("cannot start '{}': {}", handle->spec.argv[0], why));
}

}  // namespace skein::inline v0::launcher
