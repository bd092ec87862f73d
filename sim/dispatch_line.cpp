#include "sim/dispatch_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "skein/base/time_text.hpp"

namespace skein::sim {
namespace {

// So that a slip of the pen does not run for hours.
constexpr std::uint64_t k_number_max = 1'000'000;
constexpr Duration k_time_max = std::chrono::hours(24);

}  // namespace

DispatchLine::DispatchLine(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return;
    if (text.front() == '"') {
      const auto end = text.find('"', 1);
      if (end == std::string_view::npos) throw BadLine("a quote is not closed");
      words_.emplace_back(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
      continue;
    }
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
      words_.emplace_back(word);
    } else if (!options_.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      throw BadLine(fmt::format("'{}' is given twice", word.substr(0, equals)));
    }
  }
}

const std::string& DispatchLine::word(std::size_t at) const {
  if (at >= words_.size()) throw BadLine("a word is missing at the end; sim/dispatch_script.hpp has the commands");
  return words_[at];
}

std::optional<std::string> DispatchLine::text(std::string_view key) {
  const auto at = options_.find(key);
  if (at == options_.end()) return std::nullopt;
  std::string value = std::move(at->second);
  options_.erase(at);
  return value;
}

std::vector<std::string> DispatchLine::list(std::string_view key) {
  std::vector<std::string> parts;
  const std::string all = text(key).value_or("");
  for (std::size_t at = 0; at < all.size();) {
    const auto end = std::min(all.find(',', at), all.size());
    parts.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<std::uint64_t> DispatchLine::number(std::string_view key) {
  const auto value = text(key);
  return value ? std::optional(number_in(*value)) : std::nullopt;
}

std::optional<Duration> DispatchLine::time(std::string_view key) {
  const auto value = text(key);
  return value ? std::optional(time_in(*value)) : std::nullopt;
}

void DispatchLine::ends_after(std::size_t words) const {
  if (words_.size() > words) throw BadLine(fmt::format("'{}' is one word too many", words_[words]));
  if (!options_.empty()) throw BadLine(fmt::format("unknown option '{}'", options_.begin()->first));
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > k_number_max) {
    throw BadLine(fmt::format("'{}' is not a number up to {}", text, k_number_max));
  }
  return value;
}

Duration time_in(std::string_view text) {
  const auto time = parse_time(text);
  if (!time || *time < Duration::zero() || *time > k_time_max) {
    throw BadLine(fmt::format("'{}' is not a time up to {}, such as 500ms, 5s, 2min", text, time_text(k_time_max)));
  }
  return *time;
}

}  // namespace skein::sim
