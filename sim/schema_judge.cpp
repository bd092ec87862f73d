// `skein-sim schema`: reads lines such as {"schema":{"type":"integer"},"values":[1,"a"]} and says for each which of the
// values the schema takes: "10", or "refused" when the schema itself is not taken. Compared with another validator by
// tests/mcp_schema.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>

#include "sim/simulation.hpp"
#include "skein/mcp/schema.hpp"

namespace skein::sim {
namespace {

std::string verdicts(const boost::json::value& asked) {
  const auto schema = mcp::Schema::compile(asked.at("schema"));
  if (!schema) return "refused";
  std::string all;
  for (const boost::json::value& each : asked.at("values").as_array()) all += schema->check(each) ? '0' : '1';
  return all;
}

int judge(std::span<const std::string> args) {
  if (!args.empty()) {
    std::fputs("usage: skein-sim schema <LINES\n", stderr);
    return k_bad_usage;
  }
  for (std::string line; std::getline(std::cin, line);) fmt::print("{}\n", verdicts(boost::json::parse(line)));
  return 0;
}

const Registrar k_schema{{.name = "schema", .usage = "schema <LINES", .run = judge}};

}  // namespace
}  // namespace skein::sim
