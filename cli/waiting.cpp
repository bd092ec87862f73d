#include "cli/waiting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "cli/task_views.hpp"

namespace skein::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds k_wait_step{50'000};   // what is asked of the node at once; it may answer earlier
constexpr milliseconds k_wait_slack{10'000};  // for its answer
constexpr milliseconds k_no_pause{0};

// What an interrupt says, written beforehand: a signal handler may not do more than write it.
char g_farewell[256];

extern "C" void say_farewell(int number) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, g_farewell, ::strlen(g_farewell));
  ::raise(number);  // the handler was for once: this one ends the program, and its parent sees by what
}

class Farewell {
 public:
  explicit Farewell(const std::string& id) {
    const std::string text =
        errors_are_json()
            ? fmt::format(R"({{"error":{{"code":"interrupted","message":"task {} goes on","exit":130}}}})"
                          "\n",
                          id)
            : fmt::format("\nskein: interrupted; the task goes on: 'skein task wait {}' waits again\n", id);
    std::strncpy(g_farewell, text.c_str(), sizeof(g_farewell) - 1);
    struct sigaction action{};
    action.sa_handler = say_farewell;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, &before_);
  }
  ~Farewell() { ::sigaction(SIGINT, &before_, nullptr); }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

 private:
  struct sigaction before_{};
};

control::ClientError still_open(const std::string& id, const json::value& task) {
  const std::string waits = text_of(task, "waits");
  return {control::ClientError::Kind::timeout,
          {},
          fmt::format("task {} is still {}{}", id, text_of(task, "state"), waits.empty() ? "" : ", because " + waits),
          fmt::format("it goes on; 'skein task wait {}' waits again", id),
          0};
}

bool is_gone(const control::ClientError& error) {
  return error.kind == control::ClientError::Kind::unreachable || error.code == "stopped";
}

}  // namespace

milliseconds TaskWait::left() const {
  return std::max(std::chrono::duration_cast<milliseconds>(until_ - Clock::now()), k_no_pause);
}

control::ClientResult<void> TaskWait::find_again(control::ClientError why) {
  bool is_told = false;
  for (auto pause = k_reconnect_first; left() > k_no_pause; pause = std::min(pause * 2, k_reconnect_most)) {
    if (!std::exchange(is_told, true) && !errors_are_json()) {
      fmt::print(stderr, "skein: {}; waiting for it to come back\n", why.message);
    }
    std::this_thread::sleep_for(std::min(pause, left()));
    auto again = control::Client::connect(session_.data_folder(), std::max(left(), milliseconds(1)));
    if (again) {
      client_ = std::move(*again);
      return {};
    }
  }
  return std::unexpected(std::move(why));
}

control::ClientResult<json::value> TaskWait::wait_once(const std::string& id, bool shows_progress, milliseconds most) {
  const auto step = std::min(left(), most);
  const auto on_part = [&](const json::value& part) {
    const std::string mark = text_of(part, "progress");
    // Each wait begins with the last one.
    if (shows_progress && mark != std::exchange(last_mark_, mark)) fmt::print(stderr, "{}\n", mark);
    return true;
  };
  return client_.ask("task_wait", {{"id", id}, {"timeout_ms", step.count()}, {"progress", shows_progress}},
                     step + k_wait_slack, on_part);
}

control::ClientResult<json::value> TaskWait::wait_for(const std::string& id, bool shows_progress) {
  const Farewell farewell(id);
  milliseconds most = said_ ? k_first_look : k_wait_step;
  while (true) {
    auto answer = wait_once(id, shows_progress, std::exchange(most, k_wait_step));
    if (!answer && is_gone(answer.error())) {
      control::ClientError why = std::move(answer.error());
      why.advice = fmt::format("task {} is kept and goes on when it is back; 'skein task wait {}' waits again", id, id);
      if (auto found = find_again(std::move(why)); !found) return std::unexpected(std::move(found.error()));
      continue;
    }
    if (!answer) return answer;
    if (flag_of(*answer, "finished")) return part_of(*answer, "task");
    if (left() == k_no_pause) return std::unexpected(still_open(id, part_of(*answer, "task")));
    if (said_) said_ = warn_if_it_waits(part_of(*answer, "task"), *said_);
    // The node is stopping: what it says next is that it has gone.
    if (!text_of(*answer, "next").empty()) std::this_thread::sleep_for(std::min(k_reconnect_first, left()));
  }
}

}  // namespace skein::cli
