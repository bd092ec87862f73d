#include "skein/ledger/swarm_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "skein/base/comma_list.hpp"
#include "skein/base/suggestion.hpp"
#include "skein/base/time_text.hpp"
#include "skein/base/units.hpp"
#include "skein/ledger/fallback.hpp"

namespace skein::inline v0::ledger {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t k_second = 1'000;  // in milliseconds, as times are counted
constexpr std::uint64_t k_day = k_second * 24 * 3'600;
constexpr std::uint64_t k_mib = 1ULL << 20U;
constexpr std::uint64_t k_tib = 1ULL << 40U;
constexpr std::uint64_t k_billion = 1'000'000'000;

constexpr std::array<std::string_view, 3> k_roles{"worker", "specialist", "coordinator"};
constexpr std::array<std::string_view, 1> k_topologies{"star"};
constexpr std::array<std::string_view, 6> k_strategies{"round_robin",     "least_connections", "weighted",
                                                       "consistent_hash", "two_choices",       "q_learning"};

constexpr std::array<SwarmField, 15> k_fields{{
    {"executor",
     "executor",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.executor; },
     true,
     0,
     0,
     false,
     {},
     "",
     "Executor of the config that runs the tasks of the agents"},
    {"role", "role", [](SwarmFields& f) -> SwarmFieldPlace { return &f.role; }, true, 0, 0, false, k_roles, "",
     "Role of the agents"},
    {"capabilities",
     "capabilities",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.capabilities; },
     true,
     0,
     0,
     false,
     {},
     "",
     "Types of tasks that the agents can run"},
    {"min",
     "agents_min",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.min; },
     true,
     0,
     k_swarm_agents_limit,
     false,
     {},
     "the pool is refilled up to it",
     "Minimum number of agents"},
    {"max",
     "agents_max",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.max; },
     true,
     1,
     k_swarm_agents_limit,
     false,
     {},
     "no further agent is started; tasks wait",
     "Maximum number of agents"},
    {"prefetch",
     "prefetch",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.prefetch; },
     true,
     0,
     k_swarm_prefetch_max,
     false,
     {},
     "further tasks wait in the queue",
     "Tasks that an agent holds in addition to the running one"},
    {"idle_shrink",
     "idle_after_ms",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.idle_shrink; },
     true,
     0,
     k_day,
     false,
     {},
     "an idle agent above min is stopped",
     "Idle time after which an agent above min is stopped"},
    {"topology", "", [](SwarmFields& f) -> SwarmFieldPlace { return &f.topology; }, false, 0, 0, false, k_topologies,
     "", "Topology of the agents"},
    {"open_tasks",
     k_field_open_tasks,
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.open_tasks; },
     false,
     1,
     k_billion,
     false,
     {},
     "a submit is refused with queue_full",
     "Maximum number of open tasks"},
    {"open_bytes",
     k_field_open_bytes,
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.open_bytes; },
     false,
     k_mib,
     k_tib,
     true,
     {},
     "a submit is refused with queue_full",
     "Maximum size of all open tasks, in bytes"},
    {"strategy", "strategy", [](SwarmFields& f) -> SwarmFieldPlace { return &f.strategy; }, false, 0, 0, false,
     k_strategies, "", "How an agent is chosen for a task; not given: the strategy of [dispatch]"},
    {"breaker_crashes",
     "breaker_crashes",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.breaker_crashes; },
     false,
     1,
     1'000'000,
     false,
     {},
     "tasks of the type its agents crashed over wait",
     "Number of distinct tasks of one type that crash agents until that type is held back"},
    {"breaker_open",
     "breaker_open_ms",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.breaker_open; },
     false,
     k_second,
     k_day,
     false,
     {},
     "tasks of that type are tried one by one",
     "How long tasks of that type are held back"},
    {"weight",
     "weight",
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.weight; },
     false,
     1,
     k_swarm_weight_max,
     false,
     {},
     "its share of an executor with concurrency that other swarms use too",
     "Share of an executor that several swarms use"},
    {"fallback",
     k_field_fallback,
     [](SwarmFields& f) -> SwarmFieldPlace { return &f.fallback; },
     false,
     0,
     0,
     false,
     {},
     "",
     "Swarm that takes over the tasks whose attempts are used up"},
}};

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text) {
  const auto items = comma_list(text);
  std::vector<std::string> parts(items.begin(), items.end());
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

// Puts a text where it belongs; false: it is no value of this field.
struct AssignField {
  const SwarmField& field;
  std::string_view text;

  [[nodiscard]] bool is_within(std::uint64_t value) const { return value >= field.min && value <= field.max; }

  bool operator()(std::string* place) const {
    if (!field.words.empty() && !text.empty() && std::ranges::find(field.words, text) == field.words.end()) {
      return false;
    }
    *place = text;
    return true;
  }
  bool operator()(std::vector<std::string>* place) const {
    *place = split(text);
    return true;
  }
  bool operator()(Duration* place) const {
    auto ms = whole_number(text);
    if (const auto time = parse_time(text)) {
      ms = static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(*time).count());
    }
    if (!ms || !is_within(*ms)) return false;
    *place = milliseconds(*ms);
    return true;
  }
  template <class Count>
  bool operator()(Count* place) const {
    const auto value = field.is_bytes ? parse_bytes(text) : whole_number(text);
    if (!value || !is_within(*value)) return false;
    *place = static_cast<Count>(*value);
    return true;
  }
};

struct StoredFieldText {
  std::string operator()(const std::string* value) const { return *value; }
  std::string operator()(const std::vector<std::string>* value) const {
    return fmt::format("{}", fmt::join(*value, ","));
  }
  std::string operator()(const Duration* value) const {
    return fmt::format("{}", std::chrono::duration_cast<milliseconds>(*value).count());
  }
  template <class Count>
  std::string operator()(const Count* value) const {
    return fmt::format("{}", *value);
  }
};

std::string problem_with(const SwarmField& field, std::string_view text) {
  SwarmFields scratch;
  const auto place = field.place(scratch);
  const std::string range = range_text(field);
  if (!field.words.empty()) return fmt::format("{} is '{}'; it must be {}", field.name, text, range);
  const char* what = std::holds_alternative<Duration*>(place) ? "a time" : field.is_bytes ? "a size" : "a whole number";
  return fmt::format("{} is '{}'; it must be {} from {}", field.name, text, what, range);
}

std::string unknown_field(std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(std::size(k_fields));
  for (const SwarmField& each : k_fields) known.push_back(each.name);
  return fmt::format("a swarm has no field '{}'{}", name, suggestion(name, known));
}

}  // namespace

std::span<const SwarmField> swarm_fields() { return k_fields; }

const SwarmField* find_swarm_field(std::string_view name) {
  const auto is_meant = [&](const SwarmField& each) {
    return each.name == name || (!each.stored.empty() && each.stored == name);
  };
  const auto found = std::ranges::find_if(k_fields, is_meant);
  return found != k_fields.end() ? &*found : nullptr;
}

std::string range_text(const SwarmField& field) {
  if (!field.words.empty()) {
    const auto before = field.words.first(field.words.size() - 1);
    return fmt::format("{} or {}", fmt::join(before, ", "), field.words.back());
  }
  if (field.max == 0) return "";
  SwarmFields scratch;
  if (std::holds_alternative<Duration*>(field.place(scratch))) {
    return fmt::format("{} to {}", time_text(milliseconds(field.min)), time_text(milliseconds(field.max)));
  }
  if (field.is_bytes) return fmt::format("{} to {}", bytes_text(field.min), bytes_text(field.max));
  return fmt::format("{} to {}", field.min, field.max);
}

std::expected<Fields, std::vector<std::string>> stored_fields(const Fields& given) {
  Fields stored;
  std::vector<std::string> problems;
  for (const auto& [name, text] : given) {
    const SwarmField* field = find_swarm_field(name);
    if (field == nullptr || field->stored.empty()) {
      problems.push_back(unknown_field(name));
      continue;
    }
    SwarmFields scratch;
    const SwarmFieldPlace place = field->place(scratch);
    if (text.empty()) {
      stored.insert_or_assign(std::string(field->stored), text);
    } else if (!std::visit(AssignField{*field, text}, place)) {
      problems.push_back(problem_with(*field, text));
    } else if (!stored.emplace(field->stored, std::visit(StoredFieldText{}, place)).second) {
      problems.push_back(fmt::format("{} is given twice, also as {}", field->name, field->stored));
    }
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return stored;
}

Fields all_fields_of(const SwarmFields& given) {
  SwarmFields values = given;  // places are for writing
  Fields fields;
  for (const SwarmField& each : k_fields) {
    if (!each.stored.empty()) fields.emplace(each.stored, std::visit(StoredFieldText{}, each.place(values)));
  }
  return fields;
}

Fields fields_of(const SwarmFields& given) {
  static const Fields k_nothing_said = all_fields_of({});
  Fields fields = all_fields_of(given);
  // Only where they say something: a definition that is the same as one of before stays as it was.
  for (const char* const later : {"weight", "strategy", "fallback"}) {
    const auto found = fields.find(later);
    if (found->second == k_nothing_said.at(later)) fields.erase(found);
  }
  return fields;
}

std::expected<SwarmFields, std::vector<std::string>> read_swarm_fields(const Swarm& swarm) {
  SwarmFields fields;
  std::vector<std::string> problems;
  for (const SwarmField& each : k_fields) {
    const auto text = each.stored.empty() ? std::nullopt : swarm.field(each.stored);
    if (!text || text->empty()) continue;
    const bool is_good = std::visit(AssignField{each, *text}, each.place(fields));
    if (!is_good && each.is_of_agents) problems.push_back(problem_with(each, *text));
  }
  const bool has_max = swarm.field(find_swarm_field("max")->stored).has_value();
  const bool has_min = swarm.field(find_swarm_field("min")->stored).has_value();
  // A default gives way to what was chosen.
  if (!has_max) fields.max = std::max(fields.max, fields.min);
  if (!has_min) fields.min = std::min(fields.min, fields.max);
  if (fields.min > fields.max && problems.empty()) {
    problems.push_back(fmt::format("min is {} and max is {}; min must not be greater", fields.min, fields.max));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return fields;
}

}  // namespace skein::inline v0::ledger
