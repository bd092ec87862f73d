// The skein program as an OS process, for benchmarks: started with exec, ready when it tells the service manager so.
// One thread.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/sweeper.hpp"
#include "skein/base/fd.hpp"

namespace skein::bench {

// The one beside this program.
inline std::string skein_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "skein").string();
}

// In `folder`, with the environment and `more`; standard output is thrown away.
inline pid_t start_program(const std::string& folder, std::vector<std::string> args, const std::string& more = "") {
  args.insert(args.begin(), skein_program());
  std::vector<char*> argv;
  argv.reserve(args.size() + 1);
  for (std::string& each : args) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::string added = more;
  std::vector<char*> envp;
  for (char** each = environ; *each != nullptr; ++each) envp.push_back(*each);
  if (!added.empty()) envp.push_back(added.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "program.log", O_WRONLY | O_CREAT | O_APPEND, 0644);
  }
  pid_t pid = -1;
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  if (const pid_t group = Sweeper::group(); group != 0) {
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, group);
  }
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(args[0] + " cannot be started; build skein-cli first");
  return pid;
}

// Runs a verb to its end.
inline void run_program(const std::string& folder, std::vector<std::string> args) {
  const std::string what = args.front();
  const pid_t pid = start_program(folder, std::move(args));
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error("skein " + what + " failed; see program.log in " + folder);
}

// `skein up` in a folder, with data in it. Killed with its owner.
class Program {
 public:
  // `more`: further words of its command line.
  explicit Program(const std::string& folder, const std::vector<std::string>& more = {}) {
    const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const std::string name = "skein-bench-" + std::to_string(::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) throw std::runtime_error("no socket");
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::string> words{"up", "--data", "data"};
    words.insert(words.end(), more.begin(), more.end());
    pid_ = start_program(folder, std::move(words), "NOTIFY_SOCKET=@" + name);
    constexpr int k_ready_limit_ms = 120'000;
    pollfd poll{fd.get(), POLLIN, 0};
    char buffer[512];
    const bool is_ready = ::poll(&poll, 1, k_ready_limit_ms) == 1 && ::recv(fd.get(), buffer, sizeof(buffer), 0) > 0;
    ready_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (!is_ready) throw std::runtime_error("the node did not come up; see program.log in " + folder);
  }
  ~Program() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] double ready_ms() const { return ready_ms_; }
  // The node and the OS processes below it.
  [[nodiscard]] std::vector<pid_t> family() const {
    std::vector<pid_t> all{pid_};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string tasks = "/proc/" + std::to_string(all[i]) + "/task";
      for (const auto& thread : std::filesystem::directory_iterator(tasks)) {
        std::ifstream children(thread.path() / "children");
        for (pid_t child = 0; children >> child;) all.push_back(child);
      }
    }
    return all;
  }
  [[nodiscard]] double resident_mb() const {
    double pages = 0;
    for (const pid_t each : family()) {
      std::ifstream statm("/proc/" + std::to_string(each) + "/statm");
      std::uint64_t total = 0;
      std::uint64_t resident = 0;
      statm >> total >> resident;
      pages += static_cast<double>(resident);
    }
    return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
  }
  [[nodiscard]] double cpu_seconds() const {
    double ticks = 0;
    for (const pid_t each : family()) {
      std::ifstream stat("/proc/" + std::to_string(each) + "/stat");
      std::string line;
      std::getline(stat, line);
      std::istringstream fields(line.substr(line.rfind(')') + 2));  // from the state, the third, on
      std::string unused;
      for (int i = 3; i < 14; ++i) fields >> unused;
      double user = 0;
      double system = 0;
      fields >> user >> system;
      ticks += user + system;
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t pid_ = -1;
  double ready_ms_ = 0;
};

}  // namespace skein::bench
