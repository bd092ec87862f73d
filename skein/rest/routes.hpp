// REST by the table of operations: which method at which path is which operation, and how its parameters come in path,
// query and body. The service goes by it, and so does the OpenAPI file. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/net/http.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::rest {

namespace json = boost::json;
using operations::Operation;
using operations::Param;

inline constexpr std::string_view k_api_path = "/api/v1";

// The operations that REST offers.
[[nodiscard]] const std::vector<const Operation*>& routes();

// Where a parameter is given: in the path when that has it, else in the query of a GET or DELETE, else in the body.
enum class Place : std::uint8_t { path, query, body };
[[nodiscard]] Place place_of(const Operation& operation, const Param& param);

// What a request is for. No operation: the path is unknown, or `allowed` has the methods it takes.
struct Match {
  const Operation* operation = nullptr;
  json::object values{};  // of the path
  std::string allowed{};
};
[[nodiscard]] Match match(std::string_view method, std::string_view path);

// The params of the operation, from path, query and body, with the defaults and the ranges that REST has of its own.
// The rest is checked by the operation. The error is complete, for people.
[[nodiscard]] std::expected<json::object, operations::Error> read_params(const Operation& operation,
                                                                         json::object from_path,
                                                                         const net::HttpRequest& request);

// %41 is A, and in a query + is a space. Nothing when it is broken.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text, bool is_query);

}  // namespace skein::inline v0::rest
