#include "skein/node/failure_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/utf8.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_line_bytes = 500;  // of a message, which may be the end of a program's output
constexpr Duration k_window = std::chrono::seconds(1);

std::string line_of(const operations::Event& event) {
  std::string why = shown_text(event.message, k_line_bytes);
  std::ranges::replace(why, '\n', ' ');
  return fmt::format("task {} of type '{}' in swarm '{}' failed: {}", event.task.text(), event.type, event.name,
                     why.empty() ? "no reason was given" : why);
}

}  // namespace

std::vector<std::string> FailureLog::lines(const std::vector<operations::Event>& events, Instant now) {
  std::vector<std::string> out;
  if (since_ == Instant::min() || between(since_, now) >= k_window) {
    since_ = now;
    written_ = 0;
  }
  for (const operations::Event& each : events) {
    if (each.kind != operations::Event::Kind::task_failed) continue;
    if (written_ >= k_failures_logged) {
      ++left_out_;
      continue;
    }
    if (const auto left_out = std::exchange(left_out_, 0); left_out > 0) {
      out.push_back(fmt::format("{} more tasks failed and are not named here: 'skein tasks --state failed'", left_out));
    }
    ++written_;
    out.push_back(line_of(each));
  }
  return out;
}

}  // namespace skein::inline v0::node
