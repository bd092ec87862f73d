#include "skein/supervision/tree_toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <vector>

#include "skein/base/suggestion.hpp"
#include "skein/base/toml.hpp"
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {
namespace {

// Leaves the reading of a file; never leaves this one.
struct Fault {
  std::uint32_t line;
  std::string message;
};

[[noreturn]] void fail(const toml::node& node, std::string message) {
  throw Fault{node.source().begin.line, std::move(message)};
}

void only_keys(const toml::table& table, const std::vector<std::string_view>& known) {
  for (const auto& [key, node] : table) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    fail(node, fmt::format("unknown key '{}'{}", key.str(), suggestion(key.str(), known)));
  }
}

std::string text_of(const toml::node& node, std::string_view key) {
  const auto value = node.value_exact<std::string>();
  if (!value) fail(node, fmt::format("{} must be a string", key));
  return *value;
}

bool flag_of(const toml::node& node, std::string_view key) {
  const auto value = node.value_exact<bool>();
  if (!value) fail(node, fmt::format("{} must be true or false", key));
  return *value;
}

std::uint32_t count_of(const toml::node& node, std::string_view key) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 0 || *value > k_intensity_max) {
    fail(node, fmt::format("{} must be a whole number from 0 to {}", key, k_intensity_max));
  }
  return static_cast<std::uint32_t>(*value);
}

Duration time_of(const toml::node& node, std::string_view key) {
  struct Unit {
    std::string_view name;
    Duration one;
  };
  static constexpr std::array<Unit, 4> k_units{{{"ms", std::chrono::milliseconds(1)},
                                                {"s", std::chrono::seconds(1)},
                                                {"min", std::chrono::minutes(1)},
                                                {"h", std::chrono::hours(1)}}};
  constexpr std::int64_t k_number_max = 1'000'000;
  const std::string text = text_of(node, key);
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const auto found = std::ranges::find(k_units, unit, &Unit::name);
  if (error != std::errc() || number < 0 || number > k_number_max || found == k_units.end()) {
    fail(node, fmt::format("{} must be a time such as \"500ms\", \"5s\", \"2min\" or \"1h\", not \"{}\"", key, text));
  }
  return found->one * number;
}

template <class Enum>
struct Word {
  std::string_view name;
  Enum value;
};

template <class Enum>
Enum word_of(const toml::node& node, std::string_view key, std::span<const Word<Enum>> words) {
  const std::string text = text_of(node, key);
  std::vector<std::string_view> known;
  for (const Word<Enum>& each : words) {
    if (each.name == text) return each.value;
    known.push_back(each.name);
  }
  fail(node, fmt::format("unknown {} '{}'{}", key, text, suggestion(text, known)));
}

template <class Enum>
Enum word_of(const toml::node& node, std::string_view key, std::initializer_list<Word<Enum>> words) {
  return word_of<Enum>(node, key, std::span<const Word<Enum>>(words.begin(), words.size()));
}

const toml::table& table_of(const toml::node& node, std::string_view key) {
  const toml::table* table = node.as_table();
  if (table == nullptr) fail(node, fmt::format("{} must be a table", key));
  return *table;
}

Backoff backoff_of(const toml::table& table) {
  only_keys(table, {"kind", "initial", "max", "factor", "jitter"});
  Backoff backoff;
  backoff.kind = BackoffKind::exponential;
  for (const auto& [key, node] : table) {
    if (key == "kind") {
      backoff.kind = word_of<BackoffKind>(node, "backoff.kind",
                                          {{"none", BackoffKind::none},
                                           {"fixed", BackoffKind::fixed},
                                           {"linear", BackoffKind::linear},
                                           {"exponential", BackoffKind::exponential}});
    } else if (key == "initial") {
      backoff.initial = time_of(node, "backoff.initial");
    } else if (key == "max") {
      backoff.max = time_of(node, "backoff.max");
    } else {
      const auto number = node.value<double>();
      if (!number) fail(node, fmt::format("backoff.{} must be a number", key.str()));
      (key == "factor" ? backoff.factor : backoff.jitter) = *number;
    }
  }
  if (const auto fault = backoff.fault()) fail(table, *fault);
  return backoff;
}

Budget budget_of(const toml::table& table) {
  only_keys(table, {"intensity", "period", "park"});
  Budget budget;
  for (const auto& [key, node] : table) {
    if (key == "intensity") budget.intensity = count_of(node, "budget.intensity");
    if (key == "period") budget.period = time_of(node, "budget.period");
    if (key == "park") budget.park = time_of(node, "budget.park");
  }
  return budget;
}

WorkerParams params_of(const toml::table& table) {
  WorkerParams params;
  for (const auto& [key, node] : table) {
    std::string value;
    if (node.is_string()) {
      value = *node.value_exact<std::string>();
    } else if (node.is_boolean()) {
      value = *node.value_exact<bool>() ? "true" : "false";
    } else if (node.is_integer()) {
      value = std::to_string(*node.value_exact<std::int64_t>());
    } else if (node.is_floating_point()) {
      value = fmt::format("{}", *node.value_exact<double>());
    } else {
      fail(node, fmt::format("params.{} must be a string, a number or a boolean", key.str()));
    }
    params.emplace(std::string(key.str()), std::move(value));
  }
  return params;
}

// Goes on after a fault, so that a file's faults are found together. A spec that was read with faults is of no use.
class Reader {
 public:
  explicit Reader(const WorkerTypes& types) : types_(types) {}

  SupervisorSpec supervisor(const toml::table& table, std::string name, int depth) {
    if (depth > k_toml_depth) fail(table, fmt::format("more than {} supervisors within each other", k_toml_depth));
    const std::size_t before = faults_.size();
    note_unknown(table, {"name", "strategy", "intensity", "period", "auto_shutdown", "child"});
    SupervisorSpec spec;
    spec.name = std::move(name);
    for (const auto& [key, value] : table) {
      const toml::node& node = value;
      if (key == "name") noting([&] { spec.name = text_of(node, "name"); });
      if (key == "strategy") noting([&] { spec.flags.strategy = strategy(node); });
      if (key == "intensity") noting([&] { spec.flags.intensity = count_of(node, "intensity"); });
      if (key == "period") noting([&] { spec.flags.period = time_of(node, "period"); });
      if (key == "auto_shutdown") noting([&] { spec.flags.auto_shutdown = auto_shutdown(node); });
    }
    const auto wrong_flags = faults_.size() == before ? check_flags(spec.flags) : std::nullopt;
    if (wrong_flags) fail(table, wrong_flags->message);
    if (const toml::node* list = table.get("child")) children(*list, spec, depth);
    const auto wrong_children = faults_.size() == before ? check_specs(spec.flags, spec.children) : std::nullopt;
    if (wrong_children) fail(table, wrong_children->message);
    return spec;
  }

  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  template <class Read>
  void noting(Read read) {
    try {
      read();
    } catch (Fault& fault) {
      faults_.push_back(std::move(fault));
    }
  }

  void note_unknown(const toml::table& table, const std::vector<std::string_view>& known) {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      faults_.push_back(
          {node.source().begin.line, fmt::format("unknown key '{}'{}", key.str(), suggestion(key.str(), known))});
    }
  }

  static Strategy strategy(const toml::node& node) {
    std::array<Word<Strategy>, k_strategies.size()> words{};
    std::ranges::transform(k_strategies, words.begin(),
                           [](const StrategyRow& row) { return Word<Strategy>{row.name, row.strategy}; });
    return word_of<Strategy>(node, "strategy", std::span<const Word<Strategy>>(words));
  }
  static AutoShutdown auto_shutdown(const toml::node& node) {
    return word_of<AutoShutdown>(node, "auto_shutdown",
                                 {{"never", AutoShutdown::never},
                                  {"any_significant", AutoShutdown::any_significant},
                                  {"all_significant", AutoShutdown::all_significant}});
  }

  void children(const toml::node& list, SupervisorSpec& spec, int depth) {
    const toml::array* array = list.as_array();
    if (array == nullptr) fail(list, "child must be an array of tables: [[supervisor.child]]");
    for (const toml::node& each : *array) {
      noting([&] { add_child(each, spec, depth); });
    }
  }

  void add_child(const toml::node& node, SupervisorSpec& spec, int depth) {
    const std::size_t before = faults_.size();
    ChildSpec made = child_of(table_of(node, "child"), depth);
    const auto wrong = faults_.size() == before ? check_spec_under(spec.flags, made) : std::nullopt;
    if (wrong) fail(node, wrong->message);
    const auto same = [&](const ChildSpec& other) { return other.id == made.id; };
    if (std::ranges::any_of(spec.children, same)) fail(node, fmt::format("the id '{}' is used twice", made.id));
    spec.children.push_back(std::move(made));
  }

  ChildSpec child_of(const toml::table& table, int depth) {
    note_unknown(table, {"id", "worker", "supervisor", "params", "restart", "shutdown", "significant", "isolated",
                         "label", "backoff", "budget"});
    const toml::node* id = table.get("id");
    if (id == nullptr) fail(table, "a child has no id: give each a name of its own");
    const std::string name = text_of(*id, "id");
    ChildSpec spec;
    spec.id = name;
    noting([&] { spec = started_by(table, name, depth); });
    for (const auto& [key, value] : table) {
      const toml::node& node = value;
      if (key == "restart") noting([&] { spec.restart = restart(node); });
      if (key == "shutdown") noting([&] { spec.shutdown = shutdown(node); });
      if (key == "significant") noting([&] { spec.significant = flag_of(node, "significant"); });
      if (key == "isolated") noting([&] { spec.isolated = flag_of(node, "isolated"); });
      if (key == "label") noting([&] { spec.label = text_of(node, "label"); });
      if (key == "backoff") noting([&] { spec.backoff = backoff_of(table_of(node, "backoff")); });
      if (key == "budget") noting([&] { spec.budget = budget_of(table_of(node, "budget")); });
    }
    return spec;
  }

  static Restart restart(const toml::node& node) {
    return word_of<Restart>(
        node, "restart",
        {{"permanent", Restart::permanent}, {"transient", Restart::transient}, {"temporary", Restart::temporary}});
  }

  static Shutdown shutdown(const toml::node& node) {
    const std::string text = text_of(node, "shutdown");
    if (text == "brutal_kill") return Shutdown::brutal_kill();
    if (text == "infinity") return Shutdown::infinity();
    return Shutdown::after(time_of(node, "shutdown"));
  }

  ChildSpec started_by(const toml::table& table, const std::string& id, int depth) {
    const toml::node* worker = table.get("worker");
    const toml::node* below = table.get("supervisor");
    if ((worker == nullptr) == (below == nullptr)) {
      fail(table, fmt::format("child '{}' needs either worker or supervisor", id));
    }
    const toml::node* given = table.get("params");
    if (below != nullptr) {
      if (given != nullptr) fail(*given, fmt::format("child '{}' is a supervisor and takes no params", id));
      return supervisor_child(id, supervisor(table_of(*below, "supervisor"), id, depth + 1));
    }
    const std::string name = text_of(*worker, "worker");
    const auto type = types_.find(name);
    if (type == types_.end()) {
      std::vector<std::string_view> known;
      for (const auto& [each, factory] : types_) known.push_back(each);
      fail(*worker, fmt::format("unknown worker '{}'{}", name, suggestion(name, known)));
    }
    ChildSpec spec;
    spec.id = id;
    spec.what = name;
    try {
      spec.start = type->second(given == nullptr ? WorkerParams{} : params_of(table_of(*given, "params")));
    } catch (const std::invalid_argument& error) {
      fail(*worker, fmt::format("worker '{}': {}", name, error.what()));
    }
    return spec;
  }

  const WorkerTypes& types_;
  std::vector<Fault> faults_;
};

}  // namespace

std::expected<SupervisorSpec, std::string> tree_from_toml(std::string_view text, std::string_view file,
                                                          const WorkerTypes& types) {
  if (text.size() > k_toml_bytes) {
    return std::unexpected(fmt::format("{}: longer than {} bytes: split the tree", file, k_toml_bytes));
  }
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return std::unexpected(
        fmt::format("{}:{}: {}", file, parsed.error().source().begin.line, parsed.error().description()));
  }
  try {
    const toml::table& document = parsed.table();
    only_keys(document, {"supervisor"});
    const toml::node* root = document.get("supervisor");
    if (root == nullptr) throw Fault{1, "there is no [supervisor]"};
    Reader reader(types);
    SupervisorSpec tree = reader.supervisor(table_of(*root, "supervisor"), "root", 0);
    if (!reader.faults().empty()) throw Fault(reader.faults().front());
    return tree;
  } catch (const Fault& fault) {
    return std::unexpected(fmt::format("{}:{}: {}", file, fault.line, fault.message));
  }
}

std::expected<std::vector<SupervisorSpec>, std::vector<TreeFault>> trees_from_toml(std::string_view text,
                                                                                   std::string_view key,
                                                                                   const WorkerTypes& types) {
  std::vector<TreeFault> faults;
  std::vector<SupervisorSpec> trees;
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    faults.push_back({parsed.error().source().begin.line, std::string(parsed.error().description())});
    return std::unexpected(std::move(faults));
  }
  const toml::node* list = parsed.table().get(key);
  if (list == nullptr) return trees;
  const toml::array* array = list->as_array();
  if (array == nullptr) {
    faults.push_back({list->source().begin.line, fmt::format("{} must be an array of tables: [[{}]]", key, key)});
    return std::unexpected(std::move(faults));
  }
  for (const toml::node& each : *array) {
    Reader reader(types);
    try {
      SupervisorSpec tree = reader.supervisor(table_of(each, key), "", 0);
      if (tree.name.empty()) fail(each, fmt::format("[[{}]] needs a name", key));
      const auto same = [&](const SupervisorSpec& other) { return other.name == tree.name; };
      if (std::ranges::any_of(trees, same)) fail(each, fmt::format("the name '{}' is used twice", tree.name));
      trees.push_back(std::move(tree));
    } catch (const Fault& fault) {
      faults.push_back({fault.line, fault.message});
    }
    for (const Fault& fault : reader.faults()) faults.push_back({fault.line, fault.message});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return trees;
}

}  // namespace skein::inline v0
