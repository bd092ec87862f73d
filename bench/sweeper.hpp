// Cleans up after a benchmark that ends without a word (Ctrl-C, SIGTERM, SIGKILL, a crash): an OS process beside it
// that waits for the end of a pipe, ends the programs the benchmark has started (they are in its group) and removes the
// folder. After a benchmark that ended in order there is nothing left for it to do. One thread.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>

#include "skein/base/fd.hpp"

namespace skein::bench {

class Sweeper {
 public:
  // Without a shell, or a pipe, nobody cleans up; a benchmark does not fail for that.
  explicit Sweeper(const std::string& folder) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const Fd read_end(ends[0]);
    alive_ = Fd(ends[1]);
    std::string shell = "/bin/sh";
    std::string option = "-c";
    std::string script =
        "trap '' INT TERM HUP; read end; kill -TERM 0; [ -e \"$0\" ] || exit 0; i=0; quiet=0; "
        // A program that was just starting may make the folder once more: it is gone when it stays away for a second.
        "while [ $i -lt 100 ] && [ $quiet -lt 10 ]; do "
        "if [ -e \"$0\" ]; then rm -rf -- \"$0\"; quiet=0; else quiet=$((quiet + 1)); fi; "
        "i=$((i + 1)); sleep 0.1; done";
    std::string path = folder;
    std::array<char*, 5> argv{shell.data(), option.data(), script.data(), path.data(), nullptr};
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
    posix_spawnattr_t attributes{};
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    if (::posix_spawn(&pid_, shell.c_str(), &actions, &attributes, argv.data(), environ) != 0) pid_ = 0;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    group() = pid_;
  }
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper() {
    group() = 0;
    alive_.reset();
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  }

  // The process group for programs of the benchmark; zero: there is none.
  [[nodiscard]] static std::atomic<pid_t>& group() {
    static std::atomic<pid_t> id{0};
    return id;
  }

 private:
  Fd alive_;
  pid_t pid_ = 0;
};

}  // namespace skein::bench
