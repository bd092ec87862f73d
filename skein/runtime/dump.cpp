#include "skein/runtime/dump.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <csignal>
#include <cstring>
#include <fstream>

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

ProcessState state_of(Core& core, const Slot& slot, Pid pid) {
  switch (slot.phase.load(std::memory_order_relaxed)) {
    case Phase::starting:
      return ProcessState::starting;
    case Phase::terminating:
      return ProcessState::terminating;
    case Phase::ending: {
      const std::scoped_lock lock(core.ending_mutex);
      const auto found = core.ending_pids.find(pid.bits());
      const bool stuck =
          found != core.ending_pids.end() && core.now() - found->second.since >= core.options.stuck_limit;
      return stuck ? ProcessState::stuck : ProcessState::ending;
    }
    default:
      return slot.mailbox.is_idle() ? ProcessState::idle : ProcessState::runnable;
  }
}

// Signal handlers may only use what is here already.
std::atomic<Core*> g_fatal_core{nullptr};
std::atomic<int> g_fatal_file{-1};
constexpr std::array k_fatal_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A line built without allocation.
class Line {
 public:
  Line& text(std::string_view words) {
    for (const char c : words.substr(0, buffer_.size() - used_)) buffer_[used_++] = c;
    return *this;
  }
  Line& number(std::uint64_t value) {
    std::array<char, 20> digits{};
    std::size_t at = digits.size();
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return text(std::string_view(digits.data() + at, digits.size() - at));
  }
  void write_to(int file) {
    std::size_t done = 0;
    while (done < used_) {
      const ssize_t written = ::write(file, buffer_.data() + done, used_ - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  std::array<char, 512> buffer_;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t used_ = 0;
};

void write_all(const Core& core, int file) {
  const std::uint32_t used = core.table.used();
  for (std::uint32_t i = 0; i < used; ++i) {
    const Slot& slot = core.table.at(i);
    if (slot.phase.load(std::memory_order_relaxed) == Phase::free) continue;
    const ProcessType* type = slot.type.load(std::memory_order_relaxed);
    Line line;
    line.text("<0.").number(i).text(".").number(slot.generation.load(std::memory_order_relaxed)).text("> ");
    if (type != nullptr) line.text(type->name);
    line.text(" mailbox=").number(slot.queued.load(std::memory_order_relaxed));
    line.text(" handled=").number(slot.handled.load(std::memory_order_relaxed)).text("\n").write_to(file);
  }
}

extern "C" void on_fatal_signal(int signal) {
  const int file = g_fatal_file.exchange(-1);
  const Core* core = g_fatal_core.load();
  if (file >= 0 && core != nullptr) {
    Line line;
    line.text("fatal signal ").number(static_cast<std::uint64_t>(signal)).text("\n");
    const Slot* running = t_turn.running;
    if (running != nullptr && t_turn.core == core) {
      line.text("in process <0.").number(core->table.index_of(*running)).text(">\n");
    }
    line.write_to(file);
    write_all(*core, file);
    ::fsync(file);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

std::vector<ProcessInfo> list_processes(Core& core) {
  boost::unordered_flat_map<std::uint64_t, std::string> names;
  core.names.each([&](const std::string& name, Pid pid) { names.emplace(pid.bits(), name); });
  boost::unordered_flat_map<std::uint64_t, Workers::Activity> running;
  if (core.workers) {
    for (const auto& activity : core.workers->activity()) running.emplace(activity.pid.bits(), activity);
  }
  std::vector<ProcessInfo> all;
  const std::uint32_t used = core.table.used();
  for (std::uint32_t i = 0; i < used; ++i) {
    const Slot& slot = core.table.at(i);
    if (slot.phase.load(std::memory_order_acquire) == Phase::free) continue;
    ProcessInfo info;
    info.pid = pid_of(core, slot);
    const ProcessType* type = slot.type.load(std::memory_order_relaxed);
    info.type = type->name;
    if (const auto name = names.find(info.pid.bits()); name != names.end()) info.name = name->second;
    info.parent = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
    info.state = state_of(core, slot, info.pid);
    info.mailbox = slot.queued.load(std::memory_order_relaxed) + slot.mailbox.stacked();
    info.high_water = std::max(slot.high_water.load(std::memory_order_relaxed), info.mailbox);
    info.handled = slot.handled.load(std::memory_order_relaxed);
    info.handler_time = Duration(slot.handler_ns.load(std::memory_order_relaxed));
    info.memory = sizeof(Slot) + (type->bytes > Slot::k_inline_bytes ? type->bytes : 0);
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
  std::ofstream file(path, std::ios::trunc);
  file << dump_text(core);
  file.flush();
  return file.good();
}

bool install_fatal_dump(Core& core, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  g_fatal_core.store(&core);
  if (const int before = g_fatal_file.exchange(file); before >= 0) ::close(before);
  for (const int signal : k_fatal_signals) {
    struct sigaction action{};
    action.sa_handler = on_fatal_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
  return true;
}

void remove_fatal_dump(const Core& core) {
  const Core* installed = g_fatal_core.load();
  if (installed != &core) return;
  g_fatal_core.store(nullptr);
  if (const int file = g_fatal_file.exchange(-1); file >= 0) ::close(file);
  for (const int signal : k_fatal_signals) std::signal(signal, SIG_DFL);
}

}  // namespace detail
}  // namespace skein::inline v0
