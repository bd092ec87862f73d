#include "skein/runtime/dump.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cerrno>
#include <string_view>

#include "skein/base/fd.hpp"
#include "skein/runtime/core.hpp"
#include "skein/runtime/process_type.hpp"
#include "skein/runtime/workers.hpp"

namespace skein::inline v0 {

std::string_view state_name(ProcessState state) {
  switch (state) {
    case ProcessState::starting:
      return "starting";
    case ProcessState::idle:
      return "idle";
    case ProcessState::waiting:
      return "waiting";
    case ProcessState::runnable:
      return "runnable";
    case ProcessState::running:
      return "running";
    case ProcessState::terminating:
      return "terminating";
    case ProcessState::ending:
      return "ending";
    case ProcessState::stuck:
      return "stuck";
  }
  return "unknown";
}

namespace detail {
namespace {

// It is to end and has waited for longer than stuck_limit.
bool is_overdue(Core& core, Pid pid) {
  const std::scoped_lock lock(core.ending_mutex);
  const auto found = core.ending_pids.find(pid.bits());
  return found != core.ending_pids.end() && core.now() - found->second.since >= core.options.stuck_limit;
}

ProcessState state_of(Core& core, const Slot& slot, Pid pid) {
  switch (slot.phase.load(std::memory_order_relaxed)) {
    case ProcessPhase::starting:
      return ProcessState::starting;
    case ProcessPhase::terminating:
      return is_overdue(core, pid) ? ProcessState::stuck : ProcessState::terminating;
    case ProcessPhase::ending:
      return is_overdue(core, pid) ? ProcessState::stuck : ProcessState::ending;
    default:
      if (!slot.mailbox.is_idle()) return ProcessState::runnable;
      return core.table.waits_in(slot).load(std::memory_order_relaxed) == nullptr ? ProcessState::idle
                                                                                  : ProcessState::waiting;
  }
}

}  // namespace

std::vector<ProcessInfo> list_processes(Core& core, std::size_t at_most) {
  boost::unordered_flat_map<std::uint64_t, std::string> names;
  core.names.each([&](const std::string& name, Pid pid) { names.emplace(pid.bits(), name); });
  boost::unordered_flat_map<std::uint64_t, Workers::Activity> running;
  if (core.workers) {
    for (const auto& activity : core.workers->activity()) running.emplace(activity.pid.bits(), activity);
  }
  std::vector<ProcessInfo> all;
  const std::uint32_t used = core.table.used();
  for (std::uint32_t i = 0; i < used && all.size() < at_most; ++i) {
    const Slot& slot = core.table.at(i);
    if (slot.phase.load(std::memory_order_acquire) == ProcessPhase::free) continue;
    ProcessInfo info;
    info.pid = pid_of(core, slot);
    const ProcessType* type = slot.type.load(std::memory_order_relaxed);
    info.type = type->name;
    if (const auto name = names.find(info.pid.bits()); name != names.end()) info.name = name->second;
    info.parent = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
    info.state = state_of(core, slot, info.pid);
    info.mailbox = slot.queued.load(std::memory_order_relaxed) + slot.mailbox.stacked();
    info.high_water = std::max(high_water_of(slot), info.mailbox);
    info.handled = slot.handled.load(std::memory_order_relaxed);
    info.handler_time = Duration(slot.handler_ns.load(std::memory_order_relaxed));
    info.memory = sizeof(Slot) + (type->bytes > Slot::k_inline_bytes ? type->bytes : 0) +
                  std::size_t{info.mailbox} * sizeof(MessageNode);
    if (const PayloadType* waits_in = core.table.waits_in(slot).load(std::memory_order_relaxed); waits_in != nullptr) {
      info.handling = waits_in->name;
    }
    if (const auto now = running.find(info.pid.bits()); now != running.end()) {
      if (info.state == ProcessState::runnable) info.state = ProcessState::running;
      if (now->second.stuck) info.state = ProcessState::stuck;
      if (now->second.handling != nullptr) info.handling = now->second.handling->name;
    }
    all.push_back(std::move(info));
  }
  return all;
}

std::string dump_text(Core& core) {
  std::string text;
  for (const ProcessInfo& info : list_processes(core)) {
    text += fmt::format("{} {} {} {} parent={} mailbox={} high_water={} handled={} handler_us={} memory={}{}{}\n",
                        info.pid.text(), info.name.empty() ? "-" : info.name, info.type, state_name(info.state),
                        info.parent ? info.parent.text() : "-", info.mailbox, info.high_water, info.handled,
                        info.handler_time.count() / 1000, info.memory,
                        info.handling.empty() ? "" : " handling=", info.handling);
  }
  return text;
}

bool dump_to_file(Core& core, const std::string& path) {
  // For its owner alone, and never through a link that somebody laid there.
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const std::string text = dump_text(core);
  std::string_view left = text;
  while (file && !left.empty()) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return static_cast<bool>(file);
}

}  // namespace detail
}  // namespace skein::inline v0
