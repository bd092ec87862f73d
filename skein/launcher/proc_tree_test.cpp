#include "skein/launcher/proc_tree.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "skein/launcher/testing.hpp"

namespace skein::inline v0::launcher::tests {

namespace {

void* stay(void* nothing) {
  while (::pause() < 0) continue;
  return nothing;
}

bool looks_dead(pid_t pid) {
  const auto all = scan_processes();
  const auto at = std::ranges::find(all, pid, &OsEntry::pid);
  return at != all.end() && at->state == 'Z';
}

}  // namespace

pid_t fork_one_without_its_first_thread() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    pthread_t other{};
    ::pthread_create(&other, nullptr, stay, nullptr);
    ::syscall(SYS_exit, 0);
  }
  while (!looks_dead(pid)) ::poll(nullptr, 0, 1);
  return pid;
}

namespace {

constexpr int k_rounds = 12;
constexpr unsigned k_limit_s = 60;
constexpr std::time_t k_chain_s = 20;

// What `body` answers in a process of its own, which is as those of the launcher are; -1 when it does not end.
template <class Body>
int in_subreaper(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    ::alarm(k_limit_s);
    ::_exit(body());
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Each forks once, takes a session of its own and exits at once. Ends by itself after a while.
pid_t start_chain() {
  const pid_t first = ::fork();
  if (first != 0) return first;
  const std::time_t end = std::time(nullptr) + k_chain_s;
  while (std::time(nullptr) < end && ::fork() == 0) ::setsid();
  ::_exit(0);
}

void kill_all_but(std::span<const pid_t> spared) {
  kill_descendants(spared, [](pid_t, int, const rusage&) {});
}

bool is_childless() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

// How many of the chains lived on.
int end_chains() {
  int lived_on = 0;
  for (int round = 0; round < k_rounds; ++round) {
    start_chain();
    ::poll(nullptr, 0, 10);
    kill_all_but({});
    if (!is_childless()) ++lived_on;
  }
  return lived_on;
}

int end_chains_beside_a_spared_one() {
  const pid_t spared = ::fork();
  while (spared == 0) ::pause();
  int lived_on = 0;
  for (int round = 0; round < k_rounds; ++round) {
    start_chain();
    ::poll(nullptr, 0, 10);
    kill_all_but(std::array{spared});
    // A chain that goes on dies again and again; the spared one does not.
    ::poll(nullptr, 0, 10);
    if (::waitpid(-1, nullptr, WNOHANG) != 0) ++lived_on;
  }
  kill_all_but({});
  return lived_on;
}

TEST(ProcTree, ends_a_chain_that_outruns_a_walk) {
  EXPECT_EQ(in_subreaper(end_chains), 0) << "of " << k_rounds << " chains lived on";
}

TEST(ProcTree, ends_a_chain_beside_one_that_is_spared) {
  EXPECT_EQ(in_subreaper(end_chains_beside_a_spared_one), 0) << "of " << k_rounds << " chains lived on";
}

int end_one_without_its_first_thread() {
  const pid_t pid = fork_one_without_its_first_thread();
  kill_all_but({});
  const int lived_on = is_childless() ? 0 : 1;
  ::kill(pid, SIGKILL);
  return lived_on;
}

TEST(ProcTree, ends_one_whose_first_thread_has_ended) {
  EXPECT_EQ(in_subreaper(end_one_without_its_first_thread), 0) << "/proc shows it as a zombie, but it lives";
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
