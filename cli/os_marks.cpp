#include "cli/os_marks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <random>

#include "skein/base/fd.hpp"
#include "skein/launcher/proc_tree.hpp"

namespace skein::cli {
namespace {

constexpr std::string_view k_agent = "SKEIN_AGENT_ID=";

// Empty when its process ends meanwhile: a stream would throw then.
std::string read_all(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  while (file) {
    const auto got = ::read(file.get(), part.data(), part.size());
    if (got < 0) return "";
    if (got == 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Variables end with a NUL each.
bool has(const std::string& environment, const std::string& mark) {
  const std::string whole = mark + '\0';
  return environment.starts_with(whole) || environment.find('\0' + whole) != std::string::npos;
}

std::string value_of(const std::string& environment, std::string_view name) {
  const std::size_t at = environment.find(name);
  if (at == std::string::npos) return "";
  return environment.substr(at + name.size(), environment.find('\0', at) - at - name.size());
}

}  // namespace

std::vector<MarkedProcess> marked_processes(const std::string& mark) {
  std::vector<MarkedProcess> found;
  for (const launcher::OsEntry& each : launcher::scan_processes()) {
    if (launcher::is_dead(each)) continue;
    const std::string environment = read_all(launcher::shown_of(each, "environ"));
    if (!has(environment, mark)) continue;
    std::string name = read_all(fmt::format("/proc/{}/comm", each.pid));
    while (!name.empty() && name.back() == '\n') name.pop_back();
    found.push_back({each.pid, std::move(name), value_of(environment, k_agent)});
  }
  return found;
}

bool signal_marked(pid_t pid, const std::string& mark, int number) {
  const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!held || !has(read_all(fmt::format("/proc/{}/environ", pid)), mark)) return false;
  return ::syscall(SYS_pidfd_send_signal, held.get(), number, nullptr, 0) == 0;
}

std::string new_mark(const std::string& name) {
  std::random_device device;
  return fmt::format("{}={:08x}{:08x}", name, device(), device());
}

}  // namespace skein::cli
