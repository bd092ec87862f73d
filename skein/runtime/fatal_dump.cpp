#include "skein/runtime/fatal_dump.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "skein/runtime/core.hpp"
#include "skein/runtime/process_type.hpp"
#include "skein/runtime/workers.hpp"

namespace skein::inline v0::detail {
namespace {

constexpr std::array k_fatal_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr std::size_t k_longest_path = 4095;

// All a handler may use is here already.
std::atomic<Core*> g_core{nullptr};
std::array<char, k_longest_path + 1> g_path{};

// A line built without allocation; what does not fit is cut off.
class Line {
 public:
  Line& text(std::string_view words) {
    for (const char c : words.substr(0, buffer_.size() - 1 - used_)) buffer_[used_++] = c;
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
  Line& pid(Pid pid) {
    return text("<").number(pid.node()).text(".").number(pid.slot()).text(".").number(pid.generation()).text(">");
  }
  void write_to(int file) {
    buffer_[used_++] = '\n';
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

std::string_view phase_name(const Core& core, const Slot& slot) {
  switch (slot.phase.load(std::memory_order_relaxed)) {
    case ProcessPhase::free:
      return "free";
    case ProcessPhase::starting:
      return "starting";
    case ProcessPhase::running:
      if (!slot.mailbox.is_idle()) return "runnable";
      return core.table.waits_in(slot).load(std::memory_order_relaxed) == nullptr ? "idle" : "waiting";
    case ProcessPhase::terminating:
      return "terminating";
    case ProcessPhase::ending:
      return "ending";
  }
  return "unknown";
}

void write_processes(const Core& core, int file) {
  const std::uint32_t used = core.table.used();
  for (std::uint32_t i = 0; i < used; ++i) {
    const Slot& slot = core.table.at(i);
    if (slot.phase.load(std::memory_order_relaxed) == ProcessPhase::free) continue;
    const ProcessType* type = slot.type.load(std::memory_order_relaxed);
    Line line;
    line.pid(pid_of(core, slot)).text(" ");
    if (type != nullptr) line.text(type->name);
    line.text(" ").text(phase_name(core, slot)).text(" parent=");
    const Pid parent = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
    parent ? line.pid(parent) : line.text("-");
    // A message's memory stays a message's: looking at one that was taken meanwhile harms nothing.
    const std::uint64_t waiting = std::uint64_t{slot.queued.load(std::memory_order_relaxed)} + slot.mailbox.stacked();
    line.text(" mailbox=").number(waiting);
    line.text(" high_water=").number(std::max<std::uint64_t>(high_water_of(slot), waiting));
    line.text(" handled=").number(slot.handled.load(std::memory_order_relaxed));
    line.text(" handler_us=").number(slot.handler_ns.load(std::memory_order_relaxed) / 1000);
    const std::size_t state = type == nullptr || type->bytes <= Slot::k_inline_bytes ? 0 : type->bytes;
    line.text(" memory=").number(sizeof(Slot) + state + waiting * sizeof(MessageNode));
    line.write_to(file);
  }
}

void write_workers(const Core& core, int file) {
  if (!core.workers) return;
  core.workers->each_activity([file](const Workers::Activity& activity) {
    Line line;
    line.text("running ").pid(activity.pid);
    if (activity.handling != nullptr) line.text(" handling=").text(activity.handling->name);
    if (activity.stuck) line.text(" stuck");
    line.write_to(file);
  });
}

// Last, as their table is the only thing here that may be half changed; one that is being changed is left out.
void write_names(Core& core, int file) {
  core.names.try_each([file](const std::string& name, Pid pid) {
    Line line;
    line.text("name ").pid(pid).text(" ").text(name).write_to(file);
  });
}

extern "C" void on_fatal_signal(int signal) {
  // The first thread to come writes; another fault meanwhile, also its own, ends the program.
  Core* core = g_core.exchange(nullptr);
  constexpr int k_flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const int file = core == nullptr ? -1 : ::open(g_path.data(), k_flags, 0600);
  if (file >= 0) {
    Line line;
    line.text("fatal signal ").number(static_cast<std::uint64_t>(signal));
    const Slot* running = t_turn.running;
    if (running != nullptr && t_turn.core == core) line.text(" in process ").pid(pid_of(*core, *running));
    line.write_to(file);
    write_workers(*core, file);
    write_processes(*core, file);
    ::fsync(file);
    write_names(*core, file);
    ::fsync(file);
    ::close(file);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

bool install_fatal_dump(Core& core, const std::string& path) {
  if (path.size() > k_longest_path) return false;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  ::close(file);
  g_core.store(nullptr);
  std::memcpy(g_path.data(), path.c_str(), path.size() + 1);
  g_core.store(&core);
  for (const int signal : k_fatal_signals) {
    struct sigaction action{};
    action.sa_handler = on_fatal_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER | SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
  return true;
}

void remove_fatal_dump(const Core& core) {
  Core* installed = const_cast<Core*>(&core);
  if (!g_core.compare_exchange_strong(installed, nullptr)) return;
  for (const int signal : k_fatal_signals) std::signal(signal, SIG_DFL);
}

SignalStack::SignalStack() {
  stack_t before{};
  if (::sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;  // it has one already
  void* memory = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = k_bytes;
  if (::sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    ::munmap(memory, k_bytes);
  }
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, k_bytes);
}

}  // namespace skein::inline v0::detail
