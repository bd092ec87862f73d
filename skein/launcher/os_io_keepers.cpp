// How OsIo deals with launchers and keepers: who starts the next process, and what happens when one of them dies.
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/kinship.hpp"
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

// The number of a process in this one's namespace; 0: it is gone.
pid_t pid_of(int pidfd) {
  std::ifstream about(fmt::format("/proc/self/fdinfo/{}", pidfd));
  for (std::string line; std::getline(about, line);) {
    if (line.starts_with("Pid:")) return std::max(std::atoi(line.c_str() + 4), 0);
  }
  return 0;
}

}  // namespace

void OsIo::start_waiting() {
  for (const bool is_private : {false, true}) {
    if (!start_waiting(is_private)) return;
  }
  if (pools_[0].waiting.empty() && pools_[1].waiting.empty()) tell_of_places(false);
}

bool OsIo::start_waiting(bool is_private) {
  Pool& pool = pool_of(is_private);
  while (!pool.waiting.empty() && !pool.idle.empty()) {
    const std::uint64_t keeper_id = pool.idle.back();
    pool.idle.pop_back();
    counts_.idle = idle_keepers();
    const auto keeper = keepers_.find(keeper_id);
    if (keeper == keepers_.end()) continue;
    const auto handle = find(pool.waiting.front());
    if (handle != nullptr && !has_place(*handle)) {
      pool.idle.push_back(keeper_id);
      counts_.idle = idle_keepers();
      return false;
    }
    pool.waiting.pop_front();
    if (handle != nullptr) give(keeper_id, keeper->second, handle);
  }
  // Only here is it known that nobody waits for them.
  while (pool.idle.size() > options_.idle_keepers_max) drop_keeper(pool.idle.back());
  // Without a launcher there is nobody to ask; bring_back() comes here again.
  while (line_.socket && pool.asked < pool.waiting.size()) {
    // Full or gone: those asked for come first, and a dead one hangs up.
    if (!ask_keeper(is_private, false)) return true;
    ++pool.asked;
    if (launcher_awaited_ == 0) expect_answer(0);
  }
  return true;
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

bool OsIo::ask_keeper(bool is_private, bool wait) {
  KeeperWish wish;
  wish.is_private = is_private;
  if (is_private) wish.hidden = options_.hidden;
  return send_packet(line_.socket.get(), Kind::ask_keeper, encode_wish(wish), {}, wait);
}

// Before there is a thread: waits for the first keeper with a private view, or for why there is none.
void OsIo::try_private() {
  constexpr const char* k_no_answer = "the launcher does not answer; are processes of this node stopped?";
  pollfd answer{line_.socket.get(), POLLIN, 0};
  Packet packet;
  if (!ask_keeper(true, true) || ::poll(&answer, 1, Launcher::k_answer_ms) <= 0 ||
      receive_packet(line_.socket.get(), packet) != Got::packet) {
    private_problem_ = k_no_answer;
  } else if (packet.kind == Kind::failed) {
    private_problem_ = decode_answer(packet.body).why;
  } else if (packet.fds.empty()) {
    private_problem_ = k_no_fds;
  } else {
    take_keeper(true, packet);
  }
}

void OsIo::take_keeper(bool is_private, Packet& packet) {
  const std::uint64_t keeper_id = next_keeper_++;
  Keeper& keeper = keepers_[keeper_id];
  keeper.socket = std::move(packet.fds[0]);
  keeper.pid = decode_answer(packet.body).pid;
  keeper.is_private = is_private;
  add_helper(keeper.pid);
  counts_.keepers = keepers_.size();
  if (watch(keeper.socket.get(), EPOLLIN, Source::keeper, keeper_id)) {
    pool_of(is_private).idle.push_back(keeper_id);
    counts_.idle = idle_keepers();
  } else {
    drop_keeper(keeper_id);
    fail_oldest(is_private, k_no_fds);
  }
}

std::vector<std::uint64_t> OsIo::all_idle() const {
  std::vector<std::uint64_t> all = pools_[0].idle;
  all.insert(all.end(), pools_[1].idle.begin(), pools_[1].idle.end());
  return all;
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
    const KeeperAnswer answer = decode_answer(packet.body);
    Pool& pool = pool_of(answer.is_private);
    if (pool.asked > 0) --pool.asked;
    if (pools_[0].asked + pools_[1].asked > 0) expect_answer(0);
    if (packet.kind == Kind::failed) {
      const char* what = answer.is_private ? "no private view of the machine" : "the launcher gives no keeper";
      fail_oldest(answer.is_private, fmt::format("{}: {}", what, answer.why));
    } else if (packet.fds.empty()) {
      fail_oldest(answer.is_private, k_no_fds);
    } else {
      take_keeper(answer.is_private, packet);
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
  // A keeper with a private view counts its processes itself.
  const auto pid = keeper.is_private ? pid_of(packet.fds[3].get()) : static_cast<pid_t>(decode_number(packet.body));
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
  pool_of(keeper.is_private).idle.push_back(keeper_id);
  counts_.idle = idle_keepers();
}

// Closing the socket ends it, if it was not dead. What it kept dies with it.
void OsIo::drop_keeper(std::uint64_t keeper_id) {
  const auto at = keepers_.find(keeper_id);
  if (at == keepers_.end()) return;
  const auto handle = find(at->second.process);
  std::erase(pool_of(at->second.is_private).idle, keeper_id);
  remove_helper(at->second.pid);
  keepers_.erase(at);
  counts_.keepers = keepers_.size();
  counts_.idle = idle_keepers();
  if (handle == nullptr) return;
  if (!handle->started) {
    handle->keeper = 0;
    if (handle->end_wanted) return fail(handle, k_never_began);
    // The idle keepers may have been killed together with this one; the next attempt uses a new keeper.
    for (const std::uint64_t idle : all_idle()) drop_keeper(idle);
    if (handle->attempts >= k_start_attempts) return fail(handle, k_lost_start);
    return pool_of(handle->spec.is_private).waiting.push_front(handle->id);
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
  remove_helper(dead.pid);
  for (Pool& each : pools_) each.asked = 0;
  launcher_awaited_ = 0;
  for (const std::uint64_t keeper_id : all_idle()) drop_keeper(keeper_id);
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
      add_helper(line_.pid);
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

void OsIo::fail_oldest(bool is_private, const std::string& why) {
  auto& waiting = pool_of(is_private).waiting;
  if (waiting.empty()) return;
  const auto handle = find(waiting.front());
  waiting.pop_front();
  if (handle == nullptr) return;
  // The keeper may have named the program already.
  const std::string what = fmt::format("cannot start '{}': ", handle->spec.argv[0]);
  fail(handle, why.starts_with(what) ? why : what + why);
}

}  // namespace skein::inline v0::launcher
