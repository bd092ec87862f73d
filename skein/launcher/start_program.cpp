#include "skein/launcher/start_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sanitizer/asan_interface.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

namespace skein::inline v0::launcher {

namespace {

constexpr std::size_t k_stack_bytes = std::size_t{256} << 10U;
constexpr std::string_view k_default_path = "/usr/local/bin:/usr/bin:/bin";
constexpr int k_not_started = 127;

enum class Step : int { none, user, orphaned, session, limits, directory, no_new_privs, pipes, exec };

// What the new process works with until it is another program. It shares our memory (as after vfork, we stand still
// meanwhile), so everything is laid out before and it only makes system calls.
struct Plan {
  pid_t keeper = 0;
  const char* directory = nullptr;
  rlim_t memory = 0, cpu = 0, files = 0, file_bytes = 0;
  const OsUser* user = nullptr;
  mode_t umask = 0;
  bool no_new_privs = false;
  int in = -1, out = -1, err = -1;
  std::vector<std::string> places;  // where the program may be
  std::vector<char*> argv, environment;
  Step failed_step = Step::none;
  int error = 0;
};

bool limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return false;
  const rlimit wanted{std::min(soft, now.rlim_max), std::min(hard, now.rlim_max)};
  return ::setrlimit(resource, &wanted) == 0;
}

bool set_limits(const Plan& plan) {
  return limit(RLIMIT_CORE, 0, 0) && (plan.memory == 0 || limit(RLIMIT_DATA, plan.memory, plan.memory)) &&
         (plan.cpu == 0 || limit(RLIMIT_CPU, plan.cpu, plan.cpu + 1)) &&
         (plan.files == 0 || limit(RLIMIT_NOFILE, plan.files, plan.files)) &&
         (plan.file_bytes == 0 || limit(RLIMIT_FSIZE, plan.file_bytes, plan.file_bytes));
}

// Like execvp: a place without such a file is passed over, one we may not run is remembered.
int try_places(Plan& plan) {
  int error = ENOENT;
  for (const std::string& place : plan.places) {
    ::execve(place.c_str(), plan.argv.data(), plan.environment.data());
    if (errno == EACCES) {
      error = EACCES;
    } else if (errno != ENOENT && errno != ENOTDIR) {
      return errno;
    }
  }
  return error;
}

// By system call: the C library would want to change all threads, of which it has the keeper's in mind.
bool take_user(const OsUser& user) {
  return ::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

Step become(Plan& plan) {
  // First: it takes the parent-death signal away, and the folder and the program must be open to that user.
  if (plan.user != nullptr && !take_user(*plan.user)) return Step::user;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.keeper) return Step::orphaned;
  if (::setsid() < 0) return Step::session;
  if (!set_limits(plan)) return Step::limits;
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) return Step::directory;
  ::umask(plan.umask);
  if (plan.no_new_privs && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Step::no_new_privs;
  if (::dup2(plan.in, 0) < 0 || ::dup2(plan.out, 1) < 0 || ::dup2(plan.err, 2) < 0) return Step::pipes;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  errno = try_places(plan);
  return Step::exec;
}

int child_main(void* argument) {
  auto& plan = *static_cast<Plan*>(argument);
  plan.failed_step = become(plan);
  plan.error = errno;
  ::_exit(k_not_started);
}

std::vector<std::string> places_of(const OsSpec& spec) {
  const std::string& name = spec.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = k_default_path;
  for (const std::string& each : spec.environment) {
    if (each.starts_with("PATH=")) path = std::string_view(each).substr(5);
  }
  std::vector<std::string> places;
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    const std::string_view folder = path.substr(0, colon);
    places.push_back(fmt::format("{}/{}", folder.empty() ? "." : folder, name));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return places;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& each : strings) out.push_back(const_cast<char*>(each.c_str()));
  out.push_back(nullptr);
  return out;
}

// One pipe of the program; `ours` is the end that the node gets.
bool make_pipe(Fd& ours, Fd& theirs, bool program_reads) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  theirs.reset(ends[program_reads ? 0 : 1]);
  ours.reset(ends[program_reads ? 1 : 0]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

std::string failure(const OsSpec& spec, Step step, int error) {
  const char* text = std::strerror(error);
  switch (step) {
    case Step::directory:
      return fmt::format("cannot start '{}': its working directory '{}': {}", spec.argv[0], spec.directory, text);
    case Step::user:
      return fmt::format("cannot start '{}': it cannot become user {}, group {}: {}", spec.argv[0], spec.user->uid,
                         spec.user->gid, text);
    case Step::limits:
      return fmt::format("cannot start '{}': its limits cannot be set: {}", spec.argv[0], text);
    case Step::exec:
      return fmt::format("cannot start '{}': {}", spec.argv[0], text);
    default:
      return fmt::format("cannot start '{}': step {} failed: {}", spec.argv[0], static_cast<int>(step), text);
  }
}

void* child_stack() {
  static void* const stack = ::mmap(nullptr, k_stack_bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  return stack;
}

// clone3 as the C library would wrap it: the new process begins with child_main on its own stack. Only this call starts
// a process in another control group; moving it there afterwards costs milliseconds. And ThreadSanitizer, which wraps
// clone, does not survive a child that shares its memory.
long clone_into(clone_args& args, Plan& plan) {
  long result = -ENOSYS;
#if defined(__x86_64__)
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movq %[plan], %%rdi\n\t"
      "callq *%[main]\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), [main] "r"(&child_main), [plan] "r"(&plan)
      : "rcx", "r11", "memory", "cc");
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long first asm("x0") = reinterpret_cast<long>(&args);
  register long second asm("x1") = sizeof args;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x0, %[plan]\n\t"
      "blr %[main]\n\t"
      "brk 1\n"
      "1:"
      : "+r"(first)
      : "r"(number), "r"(second), [main] "r"(&child_main), [plan] "r"(&plan)
      : "memory", "cc");
  result = first;
#else
  static_cast<void>(args);
  static_cast<void>(plan);
#endif
  return result;
}

// Not fork: copying the page tables costs more than the rest of a start. -1 with errno when there is none.
pid_t clone_program(Plan& plan, void* stack, int group, int& pidfd) {
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
  if (group >= 0) args.flags |= CLONE_INTO_CGROUP;
  args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  args.stack = reinterpret_cast<std::uintptr_t>(stack);
  args.stack_size = k_stack_bytes;
  if (group >= 0) args.cgroup = static_cast<std::uint64_t>(group);
  const long pid = clone_into(args, plan);
  if (pid >= 0) return static_cast<pid_t>(pid);
  // Some sandboxes forbid clone3, whose flags they cannot see, and say that it is not there.
  if (pid == -ENOSYS || pid == -EPERM) {
    return ::clone(&child_main, static_cast<char*>(stack) + k_stack_bytes,
                   CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
  }
  errno = static_cast<int>(-pid);
  return -1;
}

}  // namespace

std::expected<Program, std::string> start_program(const OsSpec& spec, int group) {
  Program program;
  Fd in;
  Fd out;
  Fd err;
  if (!make_pipe(program.stdin_end, in, true) || !make_pipe(program.stdout_end, out, false) ||
      !make_pipe(program.stderr_end, err, false)) {
    return std::unexpected(fmt::format("cannot start '{}': no pipe: {}", spec.argv[0], std::strerror(errno)));
  }
  // The keeper made the pipes; the program must own them to open them again, as /dev/stderr.
  for (const Fd* end : {&in, &out, &err}) {
    if (!spec.user) break;
    [[maybe_unused]] const int given = ::fchown(end->get(), spec.user->uid, spec.user->gid);
  }
  Plan plan{.keeper = ::getpid(),
            .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
            .memory = spec.limits.memory_bytes,
            .cpu = spec.limits.cpu_seconds,
            .files = spec.limits.open_files,
            .file_bytes = spec.limits.file_bytes,
            .user = spec.user ? &*spec.user : nullptr,
            .umask = spec.umask,
            .no_new_privs = spec.no_new_privs,
            .in = in.get(),
            .out = out.get(),
            .err = err.get(),
            .places = places_of(spec),
            .argv = pointers(spec.argv),
            .environment = pointers(spec.environment)};
  void* stack = child_stack();
  if (stack == MAP_FAILED) return std::unexpected("cannot start anything: no memory for a stack");
  // The last one to use it left by exec or exit, so AddressSanitizer still believes in its frames.
  ASAN_UNPOISON_MEMORY_REGION(stack, k_stack_bytes);
  int pidfd = -1;
  program.pid = clone_program(plan, stack, group, pidfd);
  if (program.pid < 0) {
    return std::unexpected(fmt::format("cannot start '{}': no process: {}", spec.argv[0], std::strerror(errno)));
  }
  program.pidfd.reset(pidfd);
  if (plan.failed_step != Step::none) {
    ::waitpid(program.pid, nullptr, 0);
    return std::unexpected(failure(spec, plan.failed_step, plan.error));
  }
  return program;
}

}  // namespace skein::inline v0::launcher
