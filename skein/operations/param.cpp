#include "skein/operations/param.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace skein::inline v0::operations {
namespace {

constexpr std::uint64_t k_year_ms = 365ULL * 24 * 3600 * 1000;

std::string alternatives(const std::vector<std::string_view>& words) {
  if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
  const std::vector<std::string_view> first(words.begin(), words.end() - 1);
  return fmt::format("{} or {}", fmt::join(first, ", "), words.back());
}

}  // namespace

Param Param::word(std::string_view name, std::vector<std::string_view> words, std::string_view help) {
  Param made{name, Kind::word, help};
  made.words = std::move(words);
  return made;
}

Param Param::count(std::string_view name, std::uint64_t least, std::uint64_t most, std::string_view help) {
  Param made{name, Kind::count, help};
  made.least = least;
  made.most = most;
  return made;
}

Param Param::milliseconds(std::string_view name, std::string_view help) {
  Param made{name, Kind::milliseconds, help};
  made.most = k_year_ms;
  return made;
}

Param Param::duration(std::string_view name, std::uint64_t least_ms, std::uint64_t most_ms, std::string_view help) {
  Param made{name, Kind::duration, help};
  made.least = least_ms;
  made.most = most_ms;
  return made;
}

Param Param::task_id(std::string_view name, std::string_view help) { return {name, Kind::task_id, help}; }
Param Param::task_ids(std::string_view name, std::string_view help) { return {name, Kind::task_ids, help}; }

Param Param::required() && {
  is_required = true;
  return std::move(*this);
}

Param Param::required_unless(std::string_view other) && {
  is_required = true;
  unless = other;
  return std::move(*this);
}

Param Param::or_else(std::string_view text) && {
  otherwise = text;
  return std::move(*this);
}

Param Param::once_called(std::string_view older_name) && {
  older.push_back(older_name);
  return std::move(*this);
}

Param Param::narrowed(Way way, std::uint64_t most_there, std::uint64_t otherwise_there) && {
  narrower.push_back({way, most_there, otherwise_there});
  return std::move(*this);
}

Param Param::only_on(Ways all) && {
  ways = all;
  return std::move(*this);
}

Param Param::at(std::string_view place_name) && {
  place = place_name;
  return std::move(*this);
}

Param Param::as_option(std::string_view option_name) && {
  option = option_name;
  return std::move(*this);
}

Param Param::filled() && {
  must_be_filled = true;
  return std::move(*this);
}

bool Param::is_on(Way way) const { return ways.contains(way); }

bool Param::is_number() const { return kind == Kind::count || kind == Kind::milliseconds; }

std::uint64_t Param::most_on(Way way) const {
  const auto found = std::ranges::find(narrower, way, &Narrower::way);
  return found != narrower.end() ? found->most : most;
}

std::string Param::otherwise_on(Way way) const {
  const auto found = std::ranges::find(narrower, way, &Narrower::way);
  return found != narrower.end() ? std::to_string(found->otherwise) : otherwise;
}

std::string Param::should_be() const {
  switch (kind) {
    case Kind::text:
    case Kind::json:
      return "a string";
    case Kind::word:
      return alternatives(words);
    case Kind::count:
      return most == UINT64_MAX ? fmt::format("a whole number from {}", least)
                                : fmt::format("a whole number from {} to {}", least, most);
    case Kind::milliseconds:
      return fmt::format("a whole number of milliseconds from {} to {}", least, most);
    case Kind::duration:
      return fmt::format("a time such as \"5s\", or a whole number of milliseconds from {} to {}", least, most);
    case Kind::time:
      return "a time in milliseconds since 1970, or as in RFC 3339";
    case Kind::flag:
      return "true or false";
    case Kind::texts:
      return "an array of strings";
    case Kind::task_id:
      return "the id of a task";
    case Kind::task_ids:
      return "an array of task ids";
    case Kind::fields:
      return "an object of strings";
  }
  return "something else";
}

Param page_limit(std::uint64_t otherwise) {
  return Param::count("limit", 1, UINT64_MAX, "Maximum number of items")
      .or_else(otherwise == 0 ? std::string() : std::to_string(otherwise))
      .narrowed(Way::mcp, k_items_mcp_max, k_items_mcp)
      .narrowed(Way::rest, k_items_rest_max, k_items_rest);
}

Param page_cursor() { return Param::text("cursor", "Cursor of the previous page"); }

}  // namespace skein::inline v0::operations
