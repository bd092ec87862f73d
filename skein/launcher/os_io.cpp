#include "skein/launcher/os_io.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <stdexcept>
#include <utility>

#include "skein/base/thread_name.hpp"
#include "skein/launcher/kinship.hpp"
#include "skein/launcher/owner_watch.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr int k_events_max = 64;
constexpr int k_end_wait_ms = 5'000;
constexpr unsigned k_source_bits = 3;

// What cannot be started whatever the system says; empty when nothing is wrong.
std::string problem_of(const OsSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) return "cannot start it: the command line is empty";
  std::size_t bytes = spec.directory.size();
  bool zero = spec.directory.find('\0') != std::string::npos;
  for (const auto* list : {&spec.argv, &spec.environment}) {
    for (const std::string& each : *list) {
      bytes += each.size() + sizeof(std::uint32_t);
      zero = zero || each.find('\0') != std::string::npos;
    }
  }
  if (zero) return "cannot start '" + spec.argv[0] + "': a zero byte in its arguments, environment or directory";
  if (bytes <= k_spec_bytes_max) return {};
  return "cannot start '" + spec.argv[0] + "': arguments and environment take " + std::to_string(bytes) +
         " bytes, at most " + std::to_string(k_spec_bytes_max) + "; hand large input over on stdin";
}

Instant raw_now() { return Instant(Duration(std::chrono::steady_clock::now().time_since_epoch())); }

}  // namespace

OsIo::OsIo(Runtime& runtime, Launcher& launcher, OsProcessesOptions options)
    : runtime_(runtime), launcher_(launcher), options_(std::move(options)) {}

OsIo::~OsIo() { end(); }

void OsIo::begin() {
  auto line = launcher_.start();
  if (!line) throw std::runtime_error(line.error());
  line_ = std::move(*line);
  counts_.launcher = line_.pid;
  add_helper(line_.pid);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) throw std::runtime_error("no file descriptors left to watch OS processes with");
  watch(wake_.get(), EPOLLIN, Source::wake, 0);
  watch(line_.socket.get(), EPOLLIN, Source::launcher, 0);
  watch_guard();
  if (options_.tries_private) try_private();
  if (!options_.is_watch_supervised) own_watch_ = runtime_.spawn<OwnerWatch>(weak_from_this());
  thread_ = std::thread([this] { run(); });
}

void OsIo::end() {
  if (!thread_.joinable()) return;
  ending_ = true;
  command({});
  thread_.join();
  if (own_watch_) runtime_.exit(own_watch_, ExitReason::kill());
  for (const auto& [keeper_id, keeper] : keepers_) remove_helper(keeper.pid);
  keepers_.clear();
  line_.socket.reset();
  // Stopped, it would not see that.
  if (line_.pidfd) ::syscall(SYS_pidfd_send_signal, line_.pidfd.get(), SIGCONT, nullptr, 0);
  pollfd gone{line_.pidfd.get(), POLLIN, 0};
  if (line_.pidfd) ::poll(&gone, 1, k_end_wait_ms);
  remove_helper(line_.pid);
}

OsId OsIo::spawn(Pid owner, OsSpec spec) {
  std::string problem = problem_of(spec);
  std::unique_lock lock(table_mutex_);
  const OsId id = next_id_++;
  if (problem.empty() && table_.size() >= options_.processes_max) {
    problem = "cannot start '" + spec.argv[0] + "': " + std::to_string(table_.size()) +
              " OS processes run or wait already (processes_max)";
  }
  if (problem.empty()) table_.emplace(id, std::make_shared<OsHandle>(id, owner, std::move(spec)));
  lock.unlock();
  if (!problem.empty()) {
    ++counts_.failed;
    runtime_.notify(owner, OsStartFailed{id, std::move(problem)});
    return id;
  }
  watch_owner(owner);
  command({.kind = CommandKind::start, .id = id});
  return id;
}

void OsIo::watch_owner(Pid owner) {
  Pid watch;
  {
    const std::scoped_lock lock(table_mutex_);
    if (!owners_.insert(owner).second) return;
    watch = owner_watch_;
  }
  // Without one the next is told.
  if (watch) runtime_.notify(watch, WatchOwner{owner});
}

void OsIo::watch_owners_by(Pid watch) {
  std::vector<Pid> all;
  {
    const std::scoped_lock lock(table_mutex_);
    owner_watch_ = watch;
    all.assign(owners_.begin(), owners_.end());
  }
  for (const Pid owner : all) runtime_.notify(watch, WatchOwner{owner});
}

void OsIo::owner_died(Pid owner) {
  {
    const std::scoped_lock lock(table_mutex_);
    owners_.erase(owner);
  }
  command({.kind = CommandKind::owner_died, .owner = owner});
}

std::shared_ptr<OsHandle> OsIo::find(OsId id) const {
  const std::scoped_lock lock(table_mutex_);
  const auto at = table_.find(id);
  return at == table_.end() ? nullptr : at->second;
}

bool OsIo::write(OsId id, std::string bytes) {
  const auto handle = find(id);
  if (handle == nullptr) return false;
  const std::scoped_lock lock(handle->mutex);
  return handle->write(std::move(bytes));
}

void OsIo::close_stdin(OsId id) {
  const auto handle = find(id);
  if (handle == nullptr) return;
  const std::scoped_lock lock(handle->mutex);
  handle->stdin_closing = true;
  handle->flush();
}

void OsIo::consumed(OsId id, std::size_t bytes) {
  const auto handle = find(id);
  if (handle == nullptr) return;
  const std::scoped_lock lock(handle->mutex);
  handle->unconsumed -= std::min(bytes, handle->unconsumed);
  if (!handle->paused || !handle->stdout_end || handle->unconsumed >= handle->spec.stdout_window) return;
  handle->paused = !watch(handle->stdout_end.get(), EPOLLIN, Source::out, id);
}

bool OsIo::signal(OsId id, int signal) {
  const auto handle = find(id);
  if (handle == nullptr) return false;
  {
    const std::scoped_lock lock(handle->mutex);
    if (handle->exited) return false;
  }
  if (signal != 0) command({.kind = CommandKind::signal, .id = id, .signal = signal});
  return true;
}

bool OsIo::terminate(OsId id, std::chrono::milliseconds grace) {
  if (!signal(id, 0)) return false;
  command({.kind = CommandKind::terminate, .id = id, .grace = grace});
  return true;
}

void OsIo::kill(OsId id) {
  const auto handle = find(id);
  if (handle == nullptr) return;
  {
    const std::scoped_lock lock(handle->mutex);
    if (handle->exited) return;
    handle->kill_wanted = true;
    // At once, whatever keeps the thread and the keeper busy; the keeper then looks after what it started.
    if (handle->pidfd) ::syscall(SYS_pidfd_send_signal, handle->pidfd.get(), SIGKILL, nullptr, 0);
  }
  command({.kind = CommandKind::kill, .id = id});
}

OsCounts OsIo::counts() const {
  OsCounts counts;
  {
    const std::scoped_lock lock(table_mutex_);
    counts.processes = table_.size();
  }
  counts.keepers = counts_.keepers;
  counts.idle_keepers = counts_.idle;
  counts.started = counts_.started;
  counts.start_failures = counts_.failed;
  counts.exited = counts_.exited;
  counts.launcher_deaths = counts_.launcher_deaths;
  counts.guard_deaths = counts_.guard_deaths;
  counts.launcher = counts_.launcher;
  counts.guard = launcher_.guard_pid();
  return counts;
}

std::string OsIo::problem() const {
  const std::scoped_lock lock(problem_mutex_);
  return problem_;
}

void OsIo::command(Command command) {
  bool first = false;
  {
    const std::scoped_lock lock(commands_mutex_);
    first = commands_.empty();
    commands_.push_back(command);
  }
  const std::uint64_t one = 1;
  if (first && ::write(wake_.get(), &one, sizeof one) < 0) return;  // full: it wakes anyway
}

bool OsIo::watch(int fd, std::uint32_t events, Source source, std::uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (id << k_source_bits) | static_cast<std::uint64_t>(source);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void OsIo::run() {
  name_this_thread("skein-os-io");
  std::array<epoll_event, k_events_max> events{};
  while (!ending_) {
    const int wait = wait_ms();
    clock_.look(raw_now(), wait < 0 ? Instant::max() : later(raw_now(), std::chrono::milliseconds(wait)));
    const int got = ::epoll_wait(epoll_.get(), events.data(), k_events_max, wait);
    clock_.look(raw_now(), Instant::max());
    for (int i = 0; i < got; ++i) {
      const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
      take_event(static_cast<Source>(tag & ((1U << k_source_bits) - 1)), tag >> k_source_bits);
    }
    finish_overdue();
    take_silence();
    if (bring_back_at_ && *bring_back_at_ <= time()) bring_back();
    if (place_at_ && *place_at_ <= time()) {
      place_at_.reset();
      start_waiting();
    }
  }
}

OsIo::Clock::time_point OsIo::time() const { return Clock::time_point(clock_.now(raw_now).time_since_epoch()); }

int OsIo::wait_ms() const {
  Clock::duration shortest = Clock::duration::max();
  const auto now = time();
  for (const OsId id : draining_) {
    if (const auto handle = find(id)) shortest = std::min(shortest, handle->drain_until - now);
  }
  if (!dues_.empty()) shortest = std::min(shortest, dues_.front().at - now);
  if (bring_back_at_) shortest = std::min(shortest, *bring_back_at_ - now);
  if (place_at_) shortest = std::min(shortest, *place_at_ - now);
  if (shortest == Clock::duration::max()) return -1;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(shortest).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, k_end_wait_ms));
}

void OsIo::take_event(Source source, std::uint64_t id) {
  switch (source) {
    case Source::wake:
      return take_commands();
    case Source::guard:
      return guard_died();
    case Source::launcher:
      return take_launcher_packets();
    case Source::keeper:
      return take_keeper_packets(id);
    default:
      break;
  }
  const auto handle = find(id);
  if (handle == nullptr) return;
  if (source == Source::exit) {
    // Its keeper should say so now.
    if (!handle->draining) expect_answer(handle->keeper);
    handle->has_ended = true;
    return;
  }
  if (source == Source::in) {
    const std::scoped_lock lock(handle->mutex);
    handle->flush();
  } else if (source == Source::out) {
    read_stdout(*handle);
  } else {
    read_stderr(*handle);
  }
  if (handle->draining && handle->output_ended && !handle->stderr_end) finish(handle);
}

void OsIo::take_commands() {
  std::uint64_t count = 0;
  if (::read(wake_.get(), &count, sizeof count) < 0) return;
  std::vector<Command> taken;
  {
    const std::scoped_lock lock(commands_mutex_);
    taken.swap(commands_);
  }
  if (ending_) return;
  for (const Command& each : taken) take(each);
  start_waiting();
}

void OsIo::take(const Command& command) {
  if (command.kind == CommandKind::start) {
    if (const auto handle = find(command.id)) pool_of(handle->spec.is_private).waiting.push_back(command.id);
    return;
  }
  if (command.kind == CommandKind::owner_died) {
    std::vector<OsId> owned;
    {
      const std::scoped_lock lock(table_mutex_);
      for (const auto& [id, handle] : table_) {
        if (handle->owner == command.owner) owned.push_back(id);
      }
    }
    for (const OsId id : owned) kill(id);
    return;
  }
  const auto handle = find(command.id);
  if (handle == nullptr) return;
  const bool kills = command.kind == CommandKind::kill;
  const bool terminates = command.kind == CommandKind::terminate;
  handle->end_wanted = handle->end_wanted || kills || terminates || command.signal == SIGTERM;
  if (handle->keeper == 0) {
    // It only waits: what is to end need not begin, other signals are for what runs.
    auto& waiting = pool_of(handle->spec.is_private).waiting;
    if (handle->end_wanted && std::erase(waiting, command.id) > 0) fail(handle, k_never_began);
    return;
  }
  const auto keeper = keepers_.find(handle->keeper);
  if (keeper == keepers_.end()) return;
  // A start that is under way comes first at the keeper, too.
  const int socket = keeper->second.socket.get();
  if (terminates) {
    const auto most = std::numeric_limits<std::int32_t>::max();
    const auto ms = std::clamp<std::int64_t>(command.grace.count(), 0, most);
    handle->grace_until = time() + std::chrono::milliseconds(ms);
    send_packet(socket, Kind::ask_end, encode_number(static_cast<std::uint32_t>(ms)), {}, false);
    expect_answer(handle->keeper);
  } else if (kills) {
    send_packet(socket, Kind::ask_kill, {}, {}, false);
  } else {
    send_packet(socket, Kind::ask_signal, encode_number(static_cast<std::uint32_t>(command.signal)), {}, false);
  }
}

}  // namespace skein::inline v0::launcher
