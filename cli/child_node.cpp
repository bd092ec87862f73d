#include "cli/child_node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto k_look = 1ms;
constexpr std::chrono::milliseconds k_start_limit = 30s;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& each : texts) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::expected<void, std::string> ChildNode::spawn() {
  std::vector<std::string> arguments{"skein", "up", "--data", setup_.data};
  if (!setup_.config.empty()) arguments.insert(arguments.begin() + 2, setup_.config);
  if (setup_.is_attended) arguments.emplace_back("--attended");
  if (setup_.is_for_mcp) arguments.emplace_back("--started-by-mcp");
  if (!setup_.is_served) arguments.insert(arguments.end(), {"--http", "off", "--tcp", "off"});
  std::vector<std::string> environment;
  if (!setup_.mark.empty()) environment.push_back(setup_.mark);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    // What would lead it elsewhere, or to somebody else's service manager.
    const bool is_ours =
        variable.starts_with("SKEIN_") || variable.starts_with("NOTIFY_SOCKET=") || variable.starts_with("WATCHDOG_");
    if (!is_ours) environment.emplace_back(variable);
  }
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return std::unexpected(fmt::format("no OS process could be made: {}", std::strerror(errno)));
  if (child == 0) {
    // Only calls that are safe beside other threads, up to exec.
    if (!setup_.outlives) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
    }
    ::setpgid(0, 0);  // a Ctrl-C is for the program that started it
    sigset_t none{};
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int log = ::open(setup_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, STDIN_FILENO);
    ::dup2(log >= 0 ? log : null, STDOUT_FILENO);
    ::dup2(log >= 0 ? log : null, STDERR_FILENO);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  pid_ = child;
  return {};
}

std::expected<double, std::string> ChildNode::start() {
  const auto begin = Patience::Clock::now();
  if (auto made = spawn(); !made) return std::unexpected(std::move(made.error()));
  bool is_up = false;
  const auto tried = [&] {
    if (!is_running()) return true;
    auto client = connect();
    is_up = client && client->ask("status", {}, patience_.left()).has_value();
    return is_up;
  };
  patience_.wait("the node started", k_start_limit, k_look, tried);
  if (is_up) return milliseconds_since(begin);
  const std::string how =
      pid_ == 0 ? fmt::format("ended with exit code {}", exit_code_) : std::string("did not come up");
  return std::unexpected(fmt::format("the node {}; its log ends with:\n{}", how, log_tail(10)));
}

bool ChildNode::is_running() {
  if (pid_ == 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  pid_ = 0;
  return false;
}

void ChildNode::kill_9() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  exit_code_ = -1;
  pid_ = 0;
}

int ChildNode::wait_for_end(std::chrono::milliseconds limit) {
  const bool has_ended = patience_.wait("the node ended", limit, k_look, [this] { return !is_running(); });
  return has_ended ? exit_code_ : -1;
}

int ChildNode::stop(std::chrono::milliseconds limit) {
  if (!is_running()) return exit_code_;
  ::kill(pid_, SIGTERM);
  const int code = wait_for_end(limit);
  kill_9();
  return code;
}

std::string ChildNode::log_tail(std::size_t lines) const {
  std::ifstream file(setup_.log);
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(std::move(line));
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const std::string& each : last) text += "  " + each + "\n";
  return text;
}

}  // namespace skein::cli
