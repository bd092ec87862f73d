#include "skein/mcp/task_progress.hpp"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <cmath>

#include "skein/base/utf8.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_mark_shown_max = 500;  // bytes of a mark in a message
constexpr double k_least_rise = 0.001;

// Members that agents use for how far they are, and of how much.
struct MarkNames {
  const char* done;
  const char* total;
};
constexpr std::array k_mark_names{MarkNames{"step", "of"}, MarkNames{"done", "total"}, MarkNames{"progress", "total"}};

std::optional<double> mark_number(const boost::json::object& mark, const char* name) {
  const boost::json::value* found = mark.if_contains(name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const auto number = found->to_number<double>();
  return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

TaskProgress::Word TaskProgress::on_mark(const boost::json::value& mark) {
  const boost::json::string* text = mark.if_string();
  message_ = shown_text(text != nullptr ? std::string(*text) : operations::json_text(mark), k_mark_shown_max);
  const boost::json::object* members = mark.if_object();
  if (members == nullptr) return word(std::nullopt);
  for (const MarkNames& each : k_mark_names) {
    const auto done = mark_number(*members, each.done);
    const auto total = mark_number(*members, each.total);
    if (!done || !total || *total <= 0 || *done > *total) continue;
    total_ = total;
    return word(done);
  }
  return word(std::nullopt);
}

TaskProgress::Word TaskProgress::on_time() { return word(std::nullopt); }

TaskProgress::Word TaskProgress::word(std::optional<double> done) {
  last_ = std::max(done.value_or(0), last_ + k_least_rise);
  // More than the whole would be a lie: a total that was passed is told no more.
  const bool is_past = total_ && last_ > *total_;
  return {last_, is_past ? std::nullopt : total_, message_};
}

}  // namespace skein::inline v0::mcp
