#include "skein/operations/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <optional>

#include "skein/base/comma_list.hpp"
#include "skein/base/time_text.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::string_view k_ms_suffix = "_ms";

std::string with_dashes(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

std::optional<std::uint64_t> whole_number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

bool is_span(const Param& param) {
  return param.kind == Param::Kind::milliseconds || param.kind == Param::Kind::duration;
}

Error misread(const Param& param, std::string_view word) {
  const std::string what = is_span(param) ? fmt::format("a time such as 250ms, 5s or 2h, up to {}",
                                                        time_text(std::chrono::milliseconds(param.most)))
                                          : param.should_be();
  const std::string given = param.place.empty() ? "--" + option_of(param) : std::string(param.place);
  return invalid(fmt::format("{} '{}' must be {}", given, word, what));
}

std::optional<std::uint64_t> milliseconds_in(std::string_view word) {
  const auto time = parse_time(word);
  if (!time) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count());
}

Result<boost::json::value> number_of_word(const Param& param, const std::string& word, bool is_older_option) {
  const bool has_unit = is_span(param) && !is_older_option && word != "0";
  const std::optional<std::uint64_t> number = has_unit ? milliseconds_in(word) : whole_number_in(word);
  if (!number.has_value()) return std::unexpected(misread(param, word));
  const std::uint64_t value = number.value();
  if (value < param.least || value > param.most_on(Way::cli)) return std::unexpected(misread(param, word));
  return boost::json::value(value);
}

}  // namespace

std::string option_of(const Param& param) {
  if (!param.option.empty()) return std::string(param.option);
  std::string_view name = param.name;
  if (param.kind == Param::Kind::milliseconds && name.ends_with(k_ms_suffix)) name.remove_suffix(k_ms_suffix.size());
  return with_dashes(name);
}

std::vector<std::string> older_options_of(const Param& param) {
  std::vector<std::string> all;
  if (param.kind == Param::Kind::milliseconds) all.push_back(option_of(param) + "-ms");
  for (const std::string_view each : param.older) all.push_back(with_dashes(each));
  return all;
}

std::string option_help(const Param& param) {
  std::string text(param.help);
  if (param.kind == Param::Kind::word) text += fmt::format(": {}", fmt::join(param.words, ", "));
  if (param.kind == Param::Kind::task_id) text += ", or the beginning of it";
  if (param.kind == Param::Kind::texts || param.kind == Param::Kind::task_ids)
    text += "; repeat the option, or separate values by commas";
  std::string otherwise = param.otherwise_on(Way::cli);
  if (otherwise.empty()) return text;
  if (const auto number = whole_number_in(otherwise); number && is_span(param)) {
    otherwise = time_text(std::chrono::milliseconds(*number));
  }
  return fmt::format("{} [default: {}]", text, otherwise);
}

std::string option_type(const Param& param) {
  switch (param.kind) {
    case Param::Kind::count:
      return "NUMBER";
    case Param::Kind::milliseconds:
    case Param::Kind::duration:
      return "DURATION";
    case Param::Kind::time:
      return "TIME";
    case Param::Kind::word:
      return "WORD";
    case Param::Kind::task_id:
    case Param::Kind::task_ids:
      return "ID";
    case Param::Kind::json:
      return "JSON";
    case Param::Kind::text:
    case Param::Kind::texts:
    case Param::Kind::flag:
    case Param::Kind::fields:
      break;
  }
  return "TEXT";
}

Result<boost::json::value> value_of_words(const Param& param, const std::vector<std::string>& words,
                                          bool is_older_option) {
  const std::string word = words.empty() ? "" : words.back();
  // Ids may be given by their beginning, and every id begins with nothing.
  const bool names_tasks = param.kind == Param::Kind::task_id || param.kind == Param::Kind::task_ids;
  const bool is_filled = std::ranges::none_of(words, [](const std::string& each) { return each.empty(); });
  if ((param.must_be_filled || names_tasks) && !is_filled) {
    const std::string given = param.place.empty() ? "--" + option_of(param) : std::string(param.place);
    return std::unexpected(invalid(fmt::format("{} must not be empty; is a shell variable not set?", given)));
  }
  switch (param.kind) {
    case Param::Kind::count:
    case Param::Kind::milliseconds:
    case Param::Kind::duration:
      return number_of_word(param, word, is_older_option);
    case Param::Kind::time:
      if (const auto number = whole_number_in(word)) return boost::json::value(*number);
      return boost::json::value(word);
    case Param::Kind::flag:
      return boost::json::value(true);
    case Param::Kind::texts:
    case Param::Kind::task_ids: {
      // Given often, or separated by commas, as in a query of REST.
      boost::json::array all;
      for (const std::string& each : words) {
        for (const std::string_view item : comma_list(each)) all.emplace_back(item);
      }
      return boost::json::value(std::move(all));
    }
    case Param::Kind::word:
      if (std::ranges::find(param.words, word) == param.words.end()) return std::unexpected(misread(param, word));
      return boost::json::value(word);
    case Param::Kind::text:
    case Param::Kind::task_id:
    case Param::Kind::json:
    case Param::Kind::fields:
      break;
  }
  return boost::json::value(word);
}

}  // namespace skein::inline v0::operations
