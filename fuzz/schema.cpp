// JSON Schema: a schema on the first line, values on the others. What compiles gives a verdict on anything, the same
// each time, and one that agrees with what the schema says twice over: S, allOf [S, S], not not S, anyOf [false, S].
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/schema.hpp"

namespace {

using namespace skein::mcp;  // NOLINT(google-build-using-namespace)

constexpr MessageLimits k_limits{.bytes = 4096, .depth = 32};

// Nothing when it costs too much to say.
std::optional<bool> takes(const Schema& schema, const json::value& value) {
  const auto fault = schema.check(value);
  if (!fault) return true;
  if (fault->what.empty() || fault->describe("value").empty()) std::abort();
  if (fault->what == "costs too much to check") return std::nullopt;
  return false;
}

bool agree(const std::optional<bool>& left, const std::optional<bool>& right) {
  return !left || !right || *left == *right;
}

// The same schema in other words. Its references lead to another root, so it must have none.
std::vector<Schema> same_in_other_words(const json::value& schema) {
  const json::value not_it = json::object{{"not", schema}};
  const std::vector<json::object> all{{{"allOf", json::array{schema, schema}}},
                                      {{"not", not_it}},
                                      {{"anyOf", json::array{false, schema}}},
                                      {{"if", schema}, {"else", false}}};
  std::vector<Schema> compiled;
  for (const json::object& each : all) {
    auto made = Schema::compile(each);
    if (!made) continue;  // too deep now, or with an $id that is no longer at the root
    compiled.push_back(std::move(*made));
  }
  return compiled;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto schema_text = parse_json(text.substr(0, line), k_limits);
  if (!schema_text) return 0;
  const auto schema = Schema::compile(*schema_text);
  if (!schema) {
    if (schema.error().empty()) std::abort();
    return 0;
  }
  const bool has_references = text.substr(0, line).find("ref") != std::string_view::npos ||
                              text.substr(0, line).find('\\') != std::string_view::npos;
  const auto others = has_references ? std::vector<Schema>() : same_in_other_words(*schema_text);
  text.remove_prefix(std::min(line + 1, text.size()));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto value = parse_json(text.substr(0, end), k_limits)) {
      const auto verdict = takes(*schema, *value);
      if (takes(*schema, *value) != verdict) std::abort();
      for (const Schema& each : others) {
        if (!agree(takes(each, *value), verdict)) std::abort();
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
