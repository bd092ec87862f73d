// REST as a table: which method at which path is which operation, what it takes and what it answers. The service goes
// by it, and so does the OpenAPI file. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/net/http.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::rest {

namespace json = boost::json;

inline constexpr std::string_view k_api_path = "/api/v1";

struct Param {
  enum class In : std::uint8_t { path, query, body };
  // What goes to the operation; `any` is a JSON value that becomes its text.
  enum class Kind : std::uint8_t { text, count, texts, fields, any };
  In in = In::query;
  std::string_view name;
  Kind kind = Kind::text;
  std::string_view about;
  bool is_required = false;
  std::string_view words{};  // what a text may be, with spaces between; empty: anything
  std::uint64_t least = 0;   // of a count
  std::uint64_t most = 0;    // likewise; 0: no limit that could be named here
};

// A list of which an answer has a part: the operation answers with all of it.
struct Page {
  std::string_view list{};  // the member that has it; empty: it is not cut
  std::string_view by{};    // the member of its items that orders them
};

struct Route {
  std::string_view method;
  std::string_view path;  // below k_api_path; {name} stands for a part of it
  std::string_view op;    // operations::carry_out knows it, or the service itself: events, metrics, openapi
  std::string_view about;
  std::string_view answer;  // the name of its schema
  std::vector<Param> params{};
  int status = 200;
  Page page{};
};

[[nodiscard]] const std::vector<Route>& routes();

// What a request is for. No route: the path is unknown, or `allowed` has the methods it takes.
struct Match {
  const Route* route = nullptr;
  json::object values{};  // of the path
  std::string allowed{};
};
[[nodiscard]] Match match(std::string_view method, std::string_view path);

// The params of the operation, from path, query and body. The error is complete, for people.
[[nodiscard]] std::expected<json::object, operations::Error> read_params(const Route& route, json::object from_path,
                                                                         const net::HttpRequest& request);

// %41 is A, and in a query + is a space. Nothing when it is broken.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text, bool is_query);

}  // namespace skein::inline v0::rest
