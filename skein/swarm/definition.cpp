#include "skein/swarm/definition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "skein/dispatch/capability.hpp"
#include "skein/dispatch/hash_ring.hpp"
#include "skein/dispatch/swarm_load.hpp"

namespace skein::inline v0::swarm {
namespace {

struct Reader {
  const ledger::Swarm& swarm;
  std::vector<std::string> problems;

  // The field as a number from `least` to `most`, or `otherwise` when it is not there.
  std::uint64_t number(std::string_view field, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise) {
    const auto text = swarm.field(field);
    if (!text) return otherwise;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && end == text->data() + text->size() && value >= least && value <= most) return value;
    problems.push_back(fmt::format("{} is '{}'; it must be a whole number from {} to {}", field, *text, least, most));
    return otherwise;
  }
  dispatch::Role role() {
    const auto text = swarm.field(k_field_role).value_or("worker");
    for (const auto each : {dispatch::Role::worker, dispatch::Role::specialist, dispatch::Role::coordinator}) {
      if (text == dispatch::name_of(each)) return each;
    }
    problems.push_back(fmt::format("role is '{}'; it must be worker, specialist or coordinator", text));
    return dispatch::Role::worker;
  }
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

}  // namespace

std::expected<Definition, std::vector<std::string>> definition_of(const ledger::Swarm& swarm) {
  Reader read{swarm, {}};
  Definition result;
  result.swarm = swarm.name;
  result.executor = swarm.field(dispatch::k_field_executor).value_or("");
  if (result.executor.empty()) read.problems.emplace_back("executor is missing; it must name one of the config's");
  if (swarm.name.size() > k_name_bytes_max) {
    read.problems.push_back(fmt::format("its name has {} bytes; at most {} are allowed for a swarm with an executor",
                                        swarm.name.size(), k_name_bytes_max));
  }
  result.role = read.role();
  result.capabilities = split(swarm.field(k_field_capabilities).value_or(""));
  for (const std::string& each : result.capabilities) {
    if (auto problem = dispatch::capability_problem(each)) read.problems.push_back(std::move(*problem));
  }
  const auto least = read.number(k_field_agents_min, 0, k_agents_limit, k_agents_min);
  // A larger minimum alone raises the maximum too.
  const auto most = read.number(k_field_agents_max, 1, k_agents_limit, std::max<std::uint64_t>(least, k_agents_max));
  if (least > most) {
    read.problems.push_back(fmt::format("agents_min is {} and agents_max {}; it must not be smaller", least, most));
  }
  result.agents_min = static_cast<std::uint32_t>(least);
  result.agents_max = static_cast<std::uint32_t>(most);
  result.prefetch = static_cast<std::uint32_t>(read.number(k_field_prefetch, 0, k_prefetch_max, k_prefetch));
  constexpr std::uint64_t k_day_ms = 24ULL * 60 * 60 * 1000;
  const auto idle_ms = std::chrono::duration_cast<std::chrono::milliseconds>(k_idle_after).count();
  result.idle_after =
      std::chrono::milliseconds(read.number(k_field_idle_after_ms, 0, k_day_ms, static_cast<std::uint64_t>(idle_ms)));
  if (!read.problems.empty()) return std::unexpected(std::move(read.problems));
  return result;
}

std::uint64_t agent_mark(const Definition& definition) {
  return stable_hash(fmt::format("{}\n{}\n{}\n{}", definition.executor, dispatch::name_of(definition.role),
                                 fmt::join(definition.capabilities, ","), definition.prefetch));
}

bool needs_other_agents(const Definition& one, const Definition& other) { return agent_mark(one) != agent_mark(other); }

}  // namespace skein::inline v0::swarm
