// One parameter of an operation: its name, type, range, default and help. Plain values; any thread.
//
// Everything that is said about a parameter anywhere is made from it: what the reader of requests checks
// (arguments.hpp), the JSON Schemas of MCP and OpenAPI (schemas.hpp), the CLI's option and its help, and
// docs/reference/operations.md.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein::inline v0::operations {

// How a request gets to a node. The Unix socket in the data folder takes every operation.
enum class Way : std::uint8_t { socket, mcp, rest, cli };

// Some of the ways in. A value of one byte, since every parameter has one.
class Ways {
 public:
  constexpr Ways(std::initializer_list<Way> all) {
    for (const Way each : all) bits_ = static_cast<std::uint8_t>(bits_ | bit(each));
  }
  [[nodiscard]] constexpr bool contains(Way way) const { return (bits_ & bit(way)) != 0; }

 private:
  static constexpr std::uint8_t bit(Way way) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(way)); }
  std::uint8_t bits_ = 0;
};

struct Param {
  enum class Kind : std::uint8_t {
    text,
    word,          // one of `words`
    count,         // a whole number from `least` to `most`
    milliseconds,  // likewise, of milliseconds; on the command line "5s"
    duration,      // "5s", or a whole number of milliseconds
    time,          // milliseconds since 1970, or RFC 3339
    flag,
    texts,
    task_id,
    task_ids,
    json,    // any JSON value; on the socket, its text
    fields,  // an object of strings
  };
  // Where a way in has a range and a default of its own.
  struct Narrower {
    Way way = Way::socket;
    std::uint64_t most = 0;
    std::uint64_t otherwise = 0;
  };

  std::string_view name{};
  Kind kind = Kind::text;
  std::string_view help{};
  bool is_required = false;
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  std::string otherwise{};  // the default, as text; empty: none that could be written here
  std::vector<std::string_view> words{};
  std::vector<std::string_view> older{};  // names that it had before; they are still read
  std::string_view unless{};              // another parameter that may be given instead of a required one
  std::vector<Narrower> narrower{};
  Ways ways{Way::socket, Way::mcp, Way::rest, Way::cli};
  std::string_view place{};  // on the command line: what stands for it where it is given by its place; empty: an option
  std::string_view option{};    // likewise, the option without dashes; empty: made from the name
  bool must_be_filled = false;  // an empty text is refused: mostly it is a variable that was not set

  [[nodiscard]] static Param text(std::string_view name, std::string_view help) { return {name, Kind::text, help}; }
  [[nodiscard]] static Param word(std::string_view name, std::vector<std::string_view> words, std::string_view help);
  [[nodiscard]] static Param count(std::string_view name, std::uint64_t least, std::uint64_t most,
                                   std::string_view help);
  // Up to a year.
  [[nodiscard]] static Param milliseconds(std::string_view name, std::string_view help);
  [[nodiscard]] static Param duration(std::string_view name, std::uint64_t least_ms, std::uint64_t most_ms,
                                      std::string_view help);
  [[nodiscard]] static Param time(std::string_view name, std::string_view help) { return {name, Kind::time, help}; }
  [[nodiscard]] static Param flag(std::string_view name, std::string_view help) { return {name, Kind::flag, help}; }
  [[nodiscard]] static Param texts(std::string_view name, std::string_view help) { return {name, Kind::texts, help}; }
  [[nodiscard]] static Param task_id(std::string_view name, std::string_view help);
  [[nodiscard]] static Param task_ids(std::string_view name, std::string_view help);
  [[nodiscard]] static Param json(std::string_view name, std::string_view help) { return {name, Kind::json, help}; }
  [[nodiscard]] static Param fields(std::string_view name, std::string_view help) { return {name, Kind::fields, help}; }

  // The same parameter, and what the function says of it. They are chained where a parameter is declared.
  [[nodiscard]] Param required() &&;
  [[nodiscard]] Param required_unless(std::string_view other) &&;
  [[nodiscard]] Param or_else(std::string_view text) &&;
  [[nodiscard]] Param or_else(std::uint64_t number) && { return std::move(*this).or_else(std::to_string(number)); }
  [[nodiscard]] Param once_called(std::string_view older_name) &&;
  [[nodiscard]] Param narrowed(Way way, std::uint64_t most_there, std::uint64_t otherwise_there) &&;
  [[nodiscard]] Param only_on(Ways all) &&;
  [[nodiscard]] Param at(std::string_view place_name) &&;
  [[nodiscard]] Param as_option(std::string_view option_name) &&;
  [[nodiscard]] Param filled() &&;

  [[nodiscard]] bool is_on(Way way) const;
  [[nodiscard]] bool is_number() const;
  // What holds on this way in.
  [[nodiscard]] std::uint64_t most_on(Way way) const;
  [[nodiscard]] std::string otherwise_on(Way way) const;
  // What it must be, to be put behind "must be".
  [[nodiscard]] std::string should_be() const;
};

// What a list takes on every way in: how many items, and where to go on. Without a limit the socket answers with
// `otherwise` items; 0: with all.
inline constexpr std::uint64_t k_items_mcp = 20;  // in a page that says nothing else
inline constexpr std::uint64_t k_items_mcp_max = 100;
inline constexpr std::uint64_t k_items_rest = 100;
inline constexpr std::uint64_t k_items_rest_max = 1000;
[[nodiscard]] Param page_limit(std::uint64_t otherwise);
[[nodiscard]] Param page_cursor();

}  // namespace skein::inline v0::operations
