#include "cli/chaos_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/session.hpp"
#include "skein/base/thread_name.hpp"
#include "skein/control/client.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;
using control::Client;

constexpr std::size_t k_at_once = 32;
constexpr std::chrono::milliseconds k_answer_limit = 10s;
constexpr auto k_pause = 2ms;
constexpr std::array k_swarms{"talkers", "commands", "functions"};
constexpr std::array k_priorities{"low", "normal", "high", "critical"};

json::object request_for(std::uint64_t number) {
  const char* swarm = k_swarms[number % k_swarms.size()];
  return {{"type", number % k_swarms.size() == 2 ? "echo" : "work"},
          {"swarm", swarm},
          {"params", fmt::format(R"({{"n":{}}})", number)},
          {"priority", k_priorities[number % k_priorities.size()]},
          {"key", fmt::format("chaos-{}", number)},
          {"attempts", 100}};
}

std::uint64_t open_tasks(const std::string& data) {
  auto client = Client::connect(data);
  if (!client) return UINT64_MAX;
  const auto status = client->ask("status", {}, k_answer_limit);
  return status ? count_of(*status, "open_tasks") : UINT64_MAX;
}

}  // namespace

ChaosLoad::ChaosLoad(std::string data, std::uint64_t open_max)
    : data_(std::move(data)), open_max_(open_max), thread_([this] {
        name_this_thread("skein-load");
        run();
      }) {}

void ChaosLoad::run() {
  std::uint64_t last = 0;
  std::vector<std::uint64_t> unanswered;
  while (!is_hurried_) {
    if (unanswered.empty()) {
      if (is_ending_) break;
      const std::uint64_t open = open_tasks(data_);
      if (open >= open_max_) {
        std::this_thread::sleep_for(k_pause);
        continue;
      }
      while (unanswered.size() < std::min<std::uint64_t>(k_at_once, open_max_ - open)) unanswered.push_back(++last);
    } else {
      repeated_ += unanswered.size();
      std::this_thread::sleep_for(k_pause);
    }
    submit(unanswered);
  }
  has_finished_ = unanswered.empty();
}

void ChaosLoad::submit(std::vector<std::uint64_t>& numbers) {
  auto client = Client::connect(data_);
  if (!client) return;
  std::map<std::uint64_t, std::uint64_t> sent;  // the task's number by the request's
  for (const std::uint64_t each : numbers) {
    const auto id = client->send("task_submit", request_for(each));
    if (!id) return;
    sent[*id] = each;
  }
  for (std::size_t left = sent.size(); left > 0; --left) {
    const auto answered = client->next(k_answer_limit);
    if (!answered) return;
    const auto at = sent.find(answered->id);
    if (at == sent.end() || !answered->result) continue;
    accept(at->second, text_of(*answered->result, "id"));
    std::erase(numbers, at->second);
  }
}

void ChaosLoad::accept(std::uint64_t number, const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto [at, is_new] = tasks_.emplace(id, number);
  if (!is_new) faults_.push_back(fmt::format("task {} was accepted twice, for {} and {}", id, at->second, number));
  ++accepted_count_;
}

void ChaosLoad::end() {
  is_hurried_ = true;
  if (thread_.joinable()) thread_.join();
}

std::map<std::string, std::uint64_t> ChaosLoad::tasks() const {
  const std::scoped_lock lock(mutex_);
  return tasks_;
}

std::vector<std::string> ChaosLoad::faults() const {
  const std::scoped_lock lock(mutex_);
  return faults_;
}

}  // namespace skein::cli
