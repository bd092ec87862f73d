// The keys as people see them: docs/limits.md and `skein config limits`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "skein/node/config_keys.hpp"
#include "skein/node/config_values.hpp"
#include "skein/node/fixed_limits.hpp"

namespace skein::inline v0::node {
namespace {

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

struct ValueText {
  const Rule& rule;
  std::string operator()(const std::string* value) const { return value->empty() ? "" : quoted(*value); }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const double* value) const { return fmt::format("{}", *value); }
  std::string operator()(const std::uint32_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const std::uint64_t* value) const {
    return rule.is_bytes ? quoted(bytes_text(*value)) : fmt::format("{}", *value);
  }
  std::string operator()(const Duration* value) const { return quoted(time_text(*value)); }
  std::string operator()(const std::chrono::milliseconds* value) const { return quoted(time_text(*value)); }
  std::string operator()(const std::vector<std::string>* value) const {
    return value->empty() ? "" : fmt::format("[\"{}\"]", fmt::join(*value, "\", \""));
  }
};

bool is_time(const Place& place) {
  return std::holds_alternative<Duration*>(place) || std::holds_alternative<std::chrono::milliseconds*>(place);
}

std::string range_text(const Place& place, const Rule& rule) {
  if (!rule.words.empty()) return fmt::format("{}", fmt::join(rule.words, ", "));
  if (rule.max == 0) return "";
  if (is_time(place)) {
    using std::chrono::milliseconds;
    return fmt::format("{} to {}", time_text(milliseconds(rule.min)), time_text(milliseconds(rule.max)));
  }
  if (rule.is_bytes) return fmt::format("{} to {}", bytes_text(rule.min), bytes_text(rule.max));
  return fmt::format("{} to {}", rule.min, rule.max);
}

template <class S>
void add(std::vector<KeyInfo>& all, const std::string& section, const S& given) {
  S values = given;  // places are for writing
  for (const Key<S>& key : keys_of<S>()) {
    const Place place = key.place(values);
    all.push_back({section, std::string(key.name), std::visit(ValueText{key.rule}, place), range_text(place, key.rule),
                   std::string(key.at_limit), key.is_live});
  }
}

}  // namespace

std::vector<KeyInfo> all_keys(const Config& config) {
  std::vector<KeyInfo> all;
  add(all, "[node]", config.node);
  add(all, "[limits]", config.limits);
  add(all, "[dispatch]", config.dispatch);
  add(all, "[journal]", config.journal);
  add(all, "[archive]", config.archive);
  add(all, "[operations]", config.operations);
  add(all, "[socket]", config.socket);
  add(all, "[http]", config.http);
  add(all, "[tcp]", config.tcp);
  add(all, "[executors.NAME]", ExecutorConfig{});
  add(all, "[swarms.NAME]", SwarmConfig{});
  add(all, "[[agents]]", AgentConfig{});
  return all;
}

std::string limits_page() {
  std::string page =
      "# Limits\n\n"
      "Everything that can grow has a limit with a name and a default. Those here are keys of the config file; what a\n"
      "key is for is in [config.md](config.md). Written by `skein config limits --markdown`, checked by a test.\n\n"
      "Bytes of tasks are those of parameters, type, capabilities, key, trace, agent, route key and dependencies, "
      "those of\n"
      "the result of finished ones, and 512 for each. History, message and progress mark are not counted; they have "
      "limits of\n"
      "their own.\n";
  std::string section;
  for (const KeyInfo& each : all_keys(Config{})) {
    if (each.at_limit.empty()) continue;
    if (each.section != section) {
      section = each.section;
      page += fmt::format("\n## {}\n\n| key | default | range | what happens there |\n|---|---|---|---|\n", section);
    }
    page += fmt::format("| `{}` | `{}` | {} | {} |\n", each.key, each.value, each.range, each.at_limit);
  }
  page +=
      "\n## Fixed\n\n"
      "These are constants of the program, by the names they have there.\n\n"
      "| limit | name | value | what happens there |\n|---|---|---|---|\n";
  for (const FixedLimit& each : fixed_limits()) {
    page += fmt::format("| {} | `{}` | {} | {} |\n", each.what, each.name, each.value, each.at_limit);
  }
  return page;
}

}  // namespace skein::inline v0::node
