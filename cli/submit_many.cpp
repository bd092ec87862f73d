#include "cli/submit_many.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cli/terminal.hpp"
#include "cli/waiting.hpp"

namespace skein::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Load {
 public:
  Load(const Session& session, control::Client& client, const json::object& params, std::uint64_t count, bool keeps_ids)
      : session_(session), client_(client), params_(params), count_(count), unsent_(count), keeps_ids_(keeps_ids) {}

  // All of them, until each has been accepted or refused for good.
  control::ClientResult<void> run() {
    last_accepted_ = Clock::now();
    while (unsent_ + under_way_ > 0) {
      if (auto ok = send_some(); !ok) return ok;
      if (under_way_ == 0 && unsent_ > 0) {
        if (has_given_up()) break;
        std::this_thread::sleep_for(std::max(pause_until_ - Clock::now(), Clock::duration::zero()));
        continue;
      }
      auto next = client_.next(session_.timeout());
      if (!next) return std::unexpected(std::move(next.error()));
      take(next->result);
      progress_.show(accepted_ + refused_, count_);
    }
    if (unsent_ > 0) refused_by_[last_refusal_] += unsent_;
    refused_ += unsent_;
    progress_.end();
    return {};
  }

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t sent_again() const { return sent_again_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& refused_by() const { return refused_by_; }
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }

 private:
  [[nodiscard]] bool has_given_up() const { return Clock::now() - last_accepted_ >= session_.timeout(); }

  control::ClientResult<void> send_some() {
    if (Clock::now() < pause_until_) return {};
    for (; unsent_ > 0 && under_way_ < window_; --unsent_, ++under_way_) {
      const auto id = client_.send("task_submit", params_);
      if (!id) return std::unexpected(id.error());
    }
    return {};
  }

  void take(const control::ClientResult<json::value>& result) {
    --under_way_;
    if (result) {
      ++accepted_;
      last_accepted_ = Clock::now();
      window_ = std::min(window_ + 1, k_submits_under_way);
      if (keeps_ids_) ids_.push_back(text_of(*result, "id"));
      return;
    }
    const control::ClientError& error = result.error();
    last_refusal_ = error.code;
    if (error.retry_after_ms == 0) {
      ++refused_;
      ++refused_by_[error.code];
      return;
    }
    ++unsent_;
    ++sent_again_;
    const auto now = Clock::now();
    if (now < pause_until_) return;  // of the same flood
    window_ = std::max<std::size_t>(window_ / 2, 1);
    pause_until_ = now + milliseconds(error.retry_after_ms);
  }

  const Session& session_;
  control::Client& client_;
  const json::object& params_;
  const std::uint64_t count_;
  std::uint64_t unsent_;
  std::uint64_t under_way_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t sent_again_ = 0;
  std::size_t window_ = k_submits_under_way;
  Clock::time_point pause_until_{};
  Clock::time_point last_accepted_{};
  std::map<std::string, std::uint64_t> refused_by_;
  std::string last_refusal_;
  std::vector<std::string> ids_;
  const bool keeps_ids_;
  Progress progress_{"submitted"};
};

}  // namespace

int submit_many(const Session& session, const json::object& params, std::uint64_t count, bool wait) {
  auto client = connect(session);
  if (!client) return complain(client.error());
  const auto begin = Clock::now();
  Load load(session, *client, params, count, wait);
  if (auto done = load.run(); !done) return complain(done.error());
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::uint64_t completed = 0;
  std::uint64_t waited = 0;
  Progress waiting("ended");
  TaskWait patience(session, *client);
  for (const std::string& id : load.ids()) {
    waiting.show(waited++, load.ids().size());
    const auto task = patience.wait_for(id, false);
    if (!task) return complain(task.error());
    completed += text_of(*task, "state") == "completed" ? 1 : 0;
  }
  waiting.end();
  const double rate = static_cast<double>(load.accepted()) / took.count();
  if (session.json) {
    json::object report{{"accepted", load.accepted()},
                        {"refused", load.refused()},
                        {"sent_again", load.sent_again()},
                        {"seconds", took.count()},
                        {"per_second", rate}};
    for (const auto& [code, number] : load.refused_by()) report[code] = number;
    if (wait) report["completed"] = completed;
    print_json(report);
  } else {
    fmt::print("{} accepted, {} refused in {:.2f} s: {:.0f} accepted a second\n", load.accepted(), load.refused(),
               took.count(), rate);
    if (load.sent_again() > 0)
      fmt::print(stderr, "skein: {} were sent again when the node had room\n", load.sent_again());
    for (const auto& [code, number] : load.refused_by())
      fmt::print(stderr, "skein: {} refused with {}\n", number, code);
    if (wait) fmt::print("{} completed\n", completed);
  }
  if (load.refused() > 0) return k_exit_refused;
  return wait && completed < load.accepted() ? k_exit_task_failed : k_exit_ok;
}

}  // namespace skein::cli
