#include "skein/launcher/guard_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/role.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr const char* k_own_program = "/proc/self/exe";
constexpr const char* k_guard_name = "skein-guard";
// "SKEIN_GUARD=socket lock open_files folder": makes a program the guard, if that socket is one.
constexpr const char* k_guard_variable = "SKEIN_GUARD";

// What the program may need to be loaded, what its sanitizer or coverage is told, and marks by which tests find all
// processes of a node. Nothing else of the environment goes on.
constexpr std::array<std::string_view, 8> k_forwarded = {
    "LD_LIBRARY_PATH=", "LD_PRELOAD=",   "ASAN_OPTIONS=", "TSAN_OPTIONS=",
    "UBSAN_OPTIONS=",   "LSAN_OPTIONS=", "GCOV_PREFIX",   "SKEIN_MARK_"};

std::vector<std::string> guard_environment(int socket, const rlimit& open_files) {
  const NodeGroup& group = NodeGroup::here();
  std::vector<std::string> environment{
      fmt::format("{}={} {} {} {}", k_guard_variable, socket, group.lock_fd(), open_files.rlim_cur, group.folder())};
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    for (const std::string_view prefix : k_forwarded) {
      if (std::string_view(*each).starts_with(prefix)) environment.emplace_back(*each);
    }
  }
  return environment;
}

// What posix_spawn needs to be told, freed at the end.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    // Nothing can end it before it has taken its role.
    sigset_t all;
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // On itself: that only takes away its close-on-exec.
  void keep(int fd) {
    if (fd >= 0) ::posix_spawn_file_actions_adddup2(&actions_, fd, fd);
  }
  [[nodiscard]] int run(pid_t& pid, std::vector<std::string>& environment) {
    std::vector<char*> variables;
    variables.reserve(environment.size() + 1);
    for (std::string& each : environment) variables.push_back(each.data());
    variables.push_back(nullptr);
    std::string name = k_guard_name;
    std::array<char*, 2> arguments{name.data(), nullptr};
    return ::posix_spawn(&pid, k_own_program, &actions_, &attributes_, arguments.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

bool is_packet_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// Before the objects of the program around us are made, which are of no use to a guard.
[[gnu::constructor(101)]] void become_guard_if_told() {
  const char* told = ::getenv(k_guard_variable);
  if (told == nullptr) return;
  std::string_view text = told;
  int socket = -1;
  int lock = -1;
  rlim_t open_files = 0;
  if (!take_number(text, socket) || !take_number(text, lock) || !take_number(text, open_files)) return;
  if (!is_packet_socket(socket)) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && open_files < limit.rlim_cur) {
    limit.rlim_cur = open_files;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  for (const int fd : {socket, lock}) {
    if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  NodeGroup::inherit(std::string(text), Fd(lock));
  run_guard(Fd(socket));
}

}  // namespace

std::expected<GuardProgram, int> start_guard_program(const rlimit& open_files) {
  auto pair = packet_pair();
  if (!pair) return std::unexpected(pair.error());
  auto environment = guard_environment(pair->second.get(), open_files);
  SpawnPlan plan;
  plan.keep(pair->second.get());
  plan.keep(NodeGroup::here().lock_fd());
  pid_t pid = 0;
  const int error = plan.run(pid, environment);
  if (error != 0) return std::unexpected(error);
  return GuardProgram{std::move(pair->first), pid};
}

}  // namespace skein::inline v0::launcher
