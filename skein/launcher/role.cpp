#include "skein/launcher/role.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <vector>

#ifdef SKEIN_COVERAGE
extern "C" {
#include <gcov.h>
}
#endif

namespace skein::inline v0::launcher {

namespace {

constexpr int k_first_free_fd = 3;
constexpr std::string_view k_oom_score = "500";
constexpr std::string_view k_mark = "SKEIN_MARK_";

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  auto from = static_cast<unsigned>(k_first_free_fd);
  for (const int fd : kept) {
    if (fd < k_first_free_fd) continue;
    const auto here = static_cast<unsigned>(fd);
    if (here > from) ::close_range(from, here - 1, 0);
    from = std::max(from, here + 1);
  }
  ::close_range(from, ~0U, 0);
}

// As the kernel lays it out; all zero is the default action.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

// By system call: the C library refuses the signals that it reserves for its threads, and the program that started the
// node may have left those ignored.
void reset_signals() {
  constexpr int k_last_signal = 64;
  const KernelSigaction plain = {};
  for (int signal = 1; signal <= k_last_signal; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, &plain, nullptr, sizeof(plain.mask));
  }
}

void write_oom_score() {
  const Fd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file) return;
  [[maybe_unused]] const ssize_t written = ::write(file.get(), k_oom_score.data(), k_oom_score.size());
}

}  // namespace

bool hide_from_others() {
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (std::string_view(*each).starts_with(k_mark)) return false;
  }
  return ::prctl(PR_SET_DUMPABLE, 0) == 0;
}

void enter_role(const char* name, std::initializer_list<int> kept) {
  close_all_but(kept);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < k_first_free_fd; ++fd) ::dup2(null.get(), fd);
  ::setsid();
  reset_signals();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, name);
  // Stopped, it would not see that its connection hangs up.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  hide_from_others();
}

void leave_role() {
#ifdef SKEIN_COVERAGE
  __gcov_dump();  // what usually happens at exit
#endif
  ::_exit(0);
}

void raise_oom_score() {
  // Of one that hides, the files in /proc are the root's. It has no program's environment yet.
  ::prctl(PR_SET_DUMPABLE, 1);
  write_oom_score();
  hide_from_others();
}

}  // namespace skein::inline v0::launcher
