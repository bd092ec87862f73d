#include "skein/node/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "skein/agent/function_executor.hpp"
#include "skein/base/suggestion.hpp"
#include "skein/base/toml.hpp"
#include "skein/dispatch/capability.hpp"
#include "skein/ledger/fallback.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/node/config_assign.hpp"
#include "skein/node/config_keys.hpp"
#include "skein/node/config_values.hpp"
#include "skein/node/declared_supervisors.hpp"
#include "skein/node/executor_identity.hpp"
#include "skein/node/executor_kinds.hpp"
#include "skein/supervision/tree_toml.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::uint32_t k_no_line = 0;

constexpr std::array<std::string_view, 10> k_program_keys{"command", "directory",    "env",   "set_env", "user",
                                                          "group",   "no_new_privs", "umask", "isolate", "token"};

class Reader {
 public:
  explicit Reader(Config& config) : config_(config) {}

  void document(const toml::table& table);
  void add(const ConfigFault& found) { fault(found.line, found.message); }
  [[nodiscard]] std::vector<ConfigFault> take_faults() {
    std::vector<ConfigFault> sorted;
    for (auto& [line, fault] : faults_) sorted.push_back(std::move(fault));
    return sorted;
  }

 private:
  void fault(std::uint32_t line, std::string message) { faults_.emplace(line, ConfigFault{line, std::move(message)}); }
  void fault(const toml::node& at, std::string message) { fault(at.source().begin.line, std::move(message)); }

  const toml::table* table_of(const toml::node& node, std::string_view title) {
    if (const toml::table* table = node.as_table()) return table;
    fault(node, fmt::format("{} must be a table", title));
    return nullptr;
  }

  // Reads the keys that `values` has; `others` are read by the caller.
  template <class S>
  void keys(const toml::table& table, std::string_view title, S& values,
            const std::vector<std::string_view>& others = {}) {
    for (const auto& [name, node] : table) {
      const auto all = keys_of<S>();
      const auto key = std::ranges::find(all, name.str(), &Key<S>::name);
      if (key != all.end()) {
        if (const auto wrong = std::visit(Assign{node, key->rule}, key->place(values))) {
          fault(node, fmt::format("{} {}: {}", title, name.str(), *wrong));
        }
        continue;
      }
      if (std::ranges::find(others, name.str()) != others.end()) continue;
      if constexpr (std::is_same_v<S, SwarmConfig>) {
        // As the ledger and older releases call it.
        if (const ledger::SwarmField* meant = ledger::find_swarm_field(name.str()); meant != nullptr) {
          fault(node, fmt::format("unknown key '{}' (did you mean '{}'?)", name.str(), meant->name));
          continue;
        }
      }
      std::vector<std::string_view> known(others);
      for (const Key<S>& each : all) known.push_back(each.name);
      fault(node, fmt::format("unknown key '{}'{}", name.str(), suggestion(name.str(), known)));
    }
  }

  template <class S>
  void section(const toml::table& document, std::string_view name, S& values) {
    const toml::node* node = document.get(name);
    if (node == nullptr) return;
    const std::string title = fmt::format("[{}]", name);
    if (const toml::table* table = table_of(*node, title)) keys(*table, title, values);
  }

  template <class Section>
  void listen(const toml::table& document, std::string_view name, Section& values);
  void dispatch(const toml::table& document);
  void retry(const toml::node& node, const std::string& title, RetryOptions& options);
  void executors(const toml::table& document);
  void executor(const toml::table& table, const std::string& name);
  void of_kind(const toml::table& table, const std::string& name, const ExecutorKind& kind, ExecutorConfig& made);
  void needs_command(const toml::table& table, const std::string& title, const ExecutorConfig& made);
  void set_env(const toml::node& node, const std::string& title, ExecutorConfig& made);
  void swarms(const toml::table& document);
  void fallback(const toml::table& table, const std::string& name);
  void agents(const toml::table& document);
  void known_executor(const toml::table& table, const std::string& title, const std::string& executor);
  void allowed_capabilities(const toml::table& table, const std::string& title,
                            const std::vector<std::string>& capabilities);
  void name_fits(const toml::node& at, std::string_view what, std::string_view name);

  Config& config_;
  std::multimap<std::uint32_t, ConfigFault> faults_;  // by line, and then as they were found
};

void Reader::name_fits(const toml::node& at, std::string_view what, std::string_view name) {
  if (name.size() > config_.limits.name_bytes || !operations::is_plain_name(name)) {
    fault(at, fmt::format("{} '{}': {}, at most {} of them", what, name, operations::k_plain_name_advice,
                          config_.limits.name_bytes));
  }
}

template <class Section>
void Reader::listen(const toml::table& document, std::string_view name, Section& values) {
  section(document, name, values);
  if (const auto at = net::parse_host_port(values.listen); !at) {
    fault(*document.get(name), fmt::format("[{}] listen: {}", name, at.error()));
  } else if (values.enabled && values.auth == "none" && !net::is_loopback(at->host)) {
    fault(*document.get(name),
          fmt::format("[{}] auth: 'none' is for loopback only, and {} is not: use auth = \"token\"", name, at->host));
  }
}

void Reader::retry(const toml::node& node, const std::string& title, RetryOptions& options) {
  const toml::table* table = table_of(node, title);
  if (table == nullptr) return;
  static constexpr std::array<std::string_view, 4> k_growths{"none", "fixed", "linear", "exponential"};
  for (const auto& [name, each] : *table) {
    std::optional<std::string> wrong;
    if (name == "growth") {
      std::string word;
      wrong = Assign{each, Rule{0, 0, false, k_growths}}(&word);
      if (!wrong) {
        options.growth = static_cast<Growth>(std::ranges::find(k_growths, word) - k_growths.begin());
      }
    } else if (name == "first" || name == "longest") {
      constexpr std::uint64_t k_day_ms = 86'400'000;
      wrong = Assign{each, Rule{0, k_day_ms, false, {}}}(name == "first" ? &options.first : &options.longest);
    } else if (name == "factor" || name == "jitter") {
      wrong = Assign{each, Rule{}}(name == "factor" ? &options.factor : &options.jitter);
    } else {
      fault(each, fmt::format("unknown key '{}'{}", name.str(),
                              suggestion(name.str(), {"growth", "first", "longest", "factor", "jitter"})));
    }
    if (wrong) fault(each, fmt::format("{} {}: {}", title, name.str(), *wrong));
  }
  if (const auto problem = options.problem()) fault(*table, fmt::format("{}: {}", title, *problem));
}

void Reader::dispatch(const toml::table& document) {
  const toml::node* node = document.get("dispatch");
  if (node == nullptr) return;
  const toml::table* table = table_of(*node, "[dispatch]");
  if (table == nullptr) return;
  auto& options = config_.dispatch;
  keys(*table, "[dispatch]", options, {"strategy", "retry", "types"});
  if (const toml::node* given = table->get("strategy")) {
    const auto name = given->value_exact<std::string>();
    const auto strategy = name ? balance_named(*name) : std::nullopt;
    std::vector<std::string_view> known;
    known.reserve(k_balances);
    for (std::size_t i = 0; i < k_balances; ++i) known.push_back(balance_name(static_cast<Balance>(i)));
    if (strategy) {
      options.strategy = *strategy;
    } else {
      fault(*given, fmt::format("[dispatch] strategy: unknown '{}'{}", name.value_or(""),
                                suggestion(name.value_or(""), known)));
    }
  }
  // Only of one that was chosen: a short lease alone has always been allowed.
  const toml::node* beat = table->get("heartbeat_every");
  const bool is_rare =
      options.silent_after < 2 * options.heartbeat_every || options.lease < 3 * options.heartbeat_every;
  if (beat != nullptr && is_rare) {
    fault(*beat,
          fmt::format(
              "[dispatch] heartbeat_every is {}; silent_after must be at least twice and lease three times as long",
              time_text(options.heartbeat_every)));
  }
  if (const toml::node* given = table->get("retry")) retry(*given, "[dispatch.retry]", options.retry);
  const toml::node* types = table->get("types");
  const toml::table* each_type = types != nullptr ? table_of(*types, "[dispatch.types]") : nullptr;
  if (each_type == nullptr) return;
  for (const auto& [name, each] : *each_type) {
    const std::string title = fmt::format("[dispatch.types.{}]", name.str());
    const toml::table* values = table_of(each, title);
    if (values == nullptr) continue;
    dispatch::TypeOptions made;
    for (const auto& [key, value] : *values) {
      if (key == "timeout") {
        Duration timeout{};
        constexpr std::uint64_t k_max_ms = 3'600'000'000;
        const auto wrong = Assign{value, Rule{100, k_max_ms, false, {}}}(&timeout);
        if (wrong) fault(value, fmt::format("{} timeout: {}", title, *wrong));
        made.timeout = timeout;
      } else if (key == "agent_wait") {
        Duration wait{};
        constexpr std::uint64_t k_wait_max_ms = 3'600'000'000;
        const auto wrong = Assign{value, Rule{1, k_wait_max_ms, false, {}}}(&wait);
        if (wrong) fault(value, fmt::format("{} agent_wait: {}", title, *wrong));
        made.agent_wait = wait;
      } else if (key == "agent_fallback") {
        const auto word = value.value_exact<std::string>();
        made.agent_fallback = word ? ledger::agent_fallback_named(*word) : std::nullopt;
        if (!made.agent_fallback) fault(value, fmt::format("{} agent_fallback: must be none or any", title));
      } else if (key == "retry") {
        made.retry = options.retry;
        retry(value, title + " retry", *made.retry);
      } else {
        fault(value, fmt::format("unknown key '{}'{}", key.str(),
                                 suggestion(key.str(), {"timeout", "retry", "agent_fallback", "agent_wait"})));
      }
    }
    options.types.insert_or_assign(std::string(name.str()), made);
  }
}

void Reader::set_env(const toml::node& node, const std::string& title, ExecutorConfig& made) {
  const toml::table* table = table_of(node, title + " set_env");
  if (table == nullptr) return;
  for (const auto& [name, each] : *table) {
    const auto value = each.value_exact<std::string>();
    if (!value) {
      fault(each, fmt::format("{} set_env {}: must be a string", title, name.str()));
    } else {
      made.set_env.insert_or_assign(std::string(name.str()), *value);
    }
  }
}

void Reader::needs_command(const toml::table& table, const std::string& title, const ExecutorConfig& made) {
  if (!made.command.empty() && !made.command.front().empty()) return;
  fault(table, fmt::format("{} needs a command: command = [\"program\", \"argument\"]", title));
}

void Reader::of_kind(const toml::table& table, const std::string& name, const ExecutorKind& kind,
                     ExecutorConfig& made) {
  const std::string title = fmt::format("[executors.{}]", name);
  const auto line_of = [&](std::string_view key) {
    const toml::node* node = table.get(key);
    return node != nullptr ? node->source().begin.line : k_no_line;
  };
  if (kind.runs_programs) needs_command(table, title, made);
  config_.executor_lines[name] = {line_of("command"), line_of("directory"), line_of("user"), line_of("group"),
                                  line_of("functions")};
  if (kind.offers_functions && made.functions.empty()) made.functions = agent::built_in_types();
  for (const auto& [key, node] : table) {
    if (has_key(kind, key.str())) continue;
    const auto text = fmt::format("{} {}: kind = \"{}\" does not use this key", title, key.str(), kind.name);
    // What would be run, and as whom, must not be passed over where nothing is run.
    if (!kind.runs_programs && std::ranges::find(k_program_keys, key.str()) != k_program_keys.end()) {
      fault(node, text);
    } else {
      config_.misfits.push_back({node.source().begin.line, text});
    }
  }
}

void Reader::executor(const toml::table& table, const std::string& name) {
  const std::string title = fmt::format("[executors.{}]", name);
  ExecutorConfig made;
  keys(table, title, made, {"set_env"});
  if (const toml::node* given = table.get("set_env")) set_env(*given, title, made);
  const toml::node* given_kind = table.get("kind");
  const ExecutorKind* kind = find_executor_kind(made.kind);
  if (given_kind == nullptr) {
    std::vector<std::string_view> known;
    for (const ExecutorKind& each : executor_kinds()) known.push_back(each.name);
    fault(table, fmt::format("{} needs a kind: {}", title, fmt::join(known, ", ")));
  } else if (kind != nullptr) {
    of_kind(table, name, *kind, made);
  }
  if (const toml::node* mask = table.get("umask"); mask != nullptr && !parse_umask(made.umask)) {
    fault(*mask, fmt::format("{} umask: '{}' is no mask; write it in octal, as \"077\"", title, made.umask));
  }
  const auto folder = std::filesystem::path(config_.file).parent_path();
  if (!made.directory.empty() && !folder.empty()) made.directory = (folder / made.directory).string();
  config_.executors.insert_or_assign(name, std::move(made));
}

void Reader::executors(const toml::table& document) {
  const toml::node* node = document.get("executors");
  const toml::table* each_executor = node != nullptr ? table_of(*node, "[executors]") : nullptr;
  if (each_executor == nullptr) return;
  for (const auto& [name, each] : *each_executor) {
    name_fits(each, "executor", name.str());
    const toml::table* table = table_of(each, fmt::format("[executors.{}]", name.str()));
    if (table != nullptr) executor(*table, std::string(name.str()));
  }
}

void Reader::known_executor(const toml::table& table, const std::string& title, const std::string& executor) {
  if (config_.executors.contains(executor)) return;
  std::vector<std::string_view> known;
  known.reserve(config_.executors.size());
  for (const auto& [name, each] : config_.executors) known.push_back(name);
  const toml::node* at = table.get("executor");
  fault(at != nullptr ? *at : static_cast<const toml::node&>(table),
        fmt::format("{} executor: there is no executor '{}'{}", title, executor, suggestion(executor, known)));
}

void Reader::allowed_capabilities(const toml::table& table, const std::string& title,
                                  const std::vector<std::string>& capabilities) {
  const toml::node* at = table.get("capabilities");
  for (const std::string& each : capabilities) {
    if (const auto problem = dispatch::capability_problem(each)) {
      fault(at != nullptr ? *at : static_cast<const toml::node&>(table), fmt::format("{}: {}", title, *problem));
    }
  }
}

void Reader::swarms(const toml::table& document) {
  // What [limits] says of all swarms counts for each that says nothing itself.
  const auto with_limits = [this](SwarmConfig swarm) {
    swarm.open_tasks = config_.limits.swarm_tasks;
    swarm.open_bytes = config_.limits.swarm_bytes;
    return swarm;
  };
  for (auto& [name, swarm] : config_.swarms) swarm = with_limits(swarm);
  const toml::node* node = document.get("swarms");
  if (node == nullptr) return;
  const toml::table* each_swarm = table_of(*node, "[swarms]");
  if (each_swarm == nullptr) return;
  config_.swarms.clear();
  for (const auto& [name, each] : *each_swarm) {
    const std::string title = fmt::format("[swarms.{}]", name.str());
    name_fits(each, "swarm", name.str());
    const toml::table* table = table_of(each, title);
    if (table == nullptr) continue;
    SwarmConfig made = with_limits({});
    keys(*table, title, made);
    known_executor(*table, title, made.executor);
    allowed_capabilities(*table, title, made.capabilities);
    if (made.min > made.max) {
      fault(*table, fmt::format("{}: min is {} and max is {}; min must not be greater", title, made.min, made.max));
    }
    config_.swarms.insert_or_assign(std::string(name.str()), std::move(made));
  }
  for (const auto& [name, each] : *each_swarm) {
    if (const toml::table* table = each.as_table()) fallback(*table, std::string(name.str()));
  }
}

// Once all swarms are known. The swarm 'default' is there also when the file says nothing of it.
void Reader::fallback(const toml::table& table, const std::string& name) {
  const auto made = config_.swarms.find(name);
  const toml::node* at = table.get("fallback");
  if (at == nullptr || made == config_.swarms.end()) return;
  const std::string& to = made->second.fallback;
  const auto problem = ledger::fallback_problem(name, to, [this](std::string_view swarm) -> std::optional<std::string> {
    const auto known = config_.swarms.find(std::string(swarm));
    if (known != config_.swarms.end()) return known->second.fallback;
    return swarm == k_default_swarm ? std::optional<std::string>("") : std::nullopt;
  });
  if (!problem) return;
  std::vector<std::string_view> others{k_default_swarm};
  for (const auto& [other, swarm] : config_.swarms) {
    if (other != name && other != k_default_swarm) others.push_back(other);
  }
  const bool is_known = to == k_default_swarm || config_.swarms.contains(to);
  fault(*at, fmt::format("[swarms.{}] fallback: {}{}", name, *problem, is_known ? "" : suggestion(to, others)));
}

void Reader::agents(const toml::table& document) {
  const toml::node* node = document.get("agents");
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return fault(*node, "agents must be an array of tables: [[agents]]");
  std::set<std::string> ids;
  for (const toml::node& each : *array) {
    const toml::table* table = table_of(each, "[[agents]]");
    if (table == nullptr) continue;
    AgentConfig made;
    keys(*table, "[[agents]]", made);
    if (made.id.empty()) {
      fault(*table, "[[agents]] needs an id");
      continue;
    }
    name_fits(*table, "agent", made.id);
    if (!ids.insert(made.id).second) fault(*table, fmt::format("the agent '{}' is defined twice", made.id));
    known_executor(*table, fmt::format("agent '{}'", made.id), made.executor);
    allowed_capabilities(*table, fmt::format("agent '{}'", made.id), made.capabilities);
    config_.agents.push_back(std::move(made));
  }
}

void Reader::document(const toml::table& table) {
  static const std::vector<std::string_view> k_sections{"node",      "http",    "tcp",        "socket",   "limits",
                                                        "journal",   "archive", "operations", "dispatch", "agents",
                                                        "executors", "swarms",  "supervisors"};
  for (const auto& [name, node] : table) {
    if (std::ranges::find(k_sections, name.str()) != k_sections.end()) continue;
    fault(node, fmt::format("unknown section '{}'{}", name.str(), suggestion(name.str(), k_sections)));
  }
  section(table, "limits", config_.limits);
  section(table, "node", config_.node);
  listen(table, "http", config_.http);
  const toml::node* http = table.get("http");
  const toml::table* said = http != nullptr ? http->as_table() : nullptr;
  config_.http.is_named = said != nullptr && (said->contains("enabled") || said->contains("listen"));
  listen(table, "tcp", config_.tcp);
  section(table, "socket", config_.socket);
  section(table, "journal", config_.journal);
  section(table, "archive", config_.archive);
  section(table, "operations", config_.operations);
  dispatch(table);
  executors(table);
  swarms(table);
  agents(table);
  if (const toml::node* given = table.get("node"); given != nullptr && config_.node.name.empty()) {
    fault(*given, "[node] name: must not be empty");
  } else {
    name_fits(given != nullptr ? *given : table, "[node] name", config_.node.name);  // the ledger refuses others
  }
  const toml::table* node = table.get("node") != nullptr ? table.get("node")->as_table() : nullptr;
  if (node != nullptr && node->contains("data") && config_.node.data.empty()) {
    fault(*node->get("data"), "[node] data: must not be empty; without the key the folder is the usual one");
  }
  const auto folder = std::filesystem::path(config_.file).parent_path();
  if (!config_.node.data.empty() && !folder.empty()) config_.node.data = (folder / config_.node.data).string();
  config_.dispatch.node = config_.node.name;
}

// Overrides, deep: tables are merged, everything else is replaced.
void merge(toml::table& into, toml::table&& from) {
  for (auto&& [name, node] : from) {
    toml::node* there = into.get(name);
    if (there != nullptr && there->is_table() && node.is_table()) {
      merge(*there->as_table(), std::move(*node.as_table()));
    } else {
      into.insert_or_assign(name, std::move(node));
    }
  }
}

std::optional<std::string> apply_setting(toml::table& document, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) return fmt::format("--set {}: write section.key=value", setting);
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  toml::parse_result parsed = toml::parse(fmt::format("{} = {}", key, value));
  if (!parsed && value.find_first_of("'\n") == std::string::npos) {
    parsed = toml::parse(fmt::format("{} = '{}'", key, value));
  }
  if (!parsed) return fmt::format("--set {}: {}", setting, parsed.error().description());
  merge(document, std::move(parsed).table());
  return std::nullopt;
}

}  // namespace

std::string ConfigFaults::describe() const {
  std::string text;
  for (const ConfigFault& each : faults) {
    text += each.line == k_no_line ? fmt::format("{}: {}\n", file, each.message)
                                   : fmt::format("{}:{}: {}\n", file, each.line, each.message);
  }
  return text;
}

Config default_config() {
  Config config;
  ExecutorConfig function;
  function.kind = "function";
  function.functions = agent::built_in_types();
  config.executors.emplace(k_function_executor, std::move(function));
  config.swarms.emplace(k_default_swarm, SwarmConfig{});
  config.dispatch.node = config.node.name;
  return config;
}

ConfigResult parse_config(std::string_view text, std::string_view file, const std::vector<std::string>& settings) {
  ConfigFaults faults{std::string(file), {}, {}};
  if (text.size() > k_toml_bytes) {
    faults.faults.push_back({k_no_line, fmt::format("longer than {} bytes", k_toml_bytes)});
    return std::unexpected(std::move(faults));
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    faults.faults.push_back({parsed.error().source().begin.line, std::string(parsed.error().description())});
    return std::unexpected(std::move(faults));
  }
  Config config = default_config();
  config.file = file;
  config.text = text;
  config.settings = settings;
  Reader reader(config);
  reader.document(parsed.table());
  for (const ConfigFault& each : check_declared_supervisors(config)) reader.add(each);
  faults.faults = reader.take_faults();
  if (!faults.faults.empty()) {
    faults.read = std::make_shared<const Config>(std::move(config));
    return std::unexpected(std::move(faults));
  }
  if (settings.empty()) return config;

  // The file is right by itself, so whatever is wrong now is wrong with the settings.
  faults.file = "--set";
  for (const std::string& each : settings) {
    if (const auto wrong = apply_setting(parsed.table(), each)) faults.faults.push_back({k_no_line, *wrong});
  }
  Config changed = default_config();
  changed.file = file;
  changed.text = text;
  changed.settings = settings;
  Reader again(changed);
  again.document(parsed.table());
  for (ConfigFault& each : again.take_faults()) faults.faults.push_back({k_no_line, std::move(each.message)});
  if (!faults.faults.empty()) return std::unexpected(std::move(faults));
  return changed;
}

ConfigResult load_config(const std::string& path, const std::vector<std::string>& settings) {
  if (path.empty()) {
    auto config = parse_config("", "defaults", settings);
    if (config) config->file.clear();  // there is none to read again or to check
    return config;
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) {
    const std::string why = error ? error.message() : std::strerror(errno);
    return std::unexpected(ConfigFaults{
        path,
        {{k_no_line, fmt::format("cannot be read ({}); 'skein init' writes one, 'skein up' runs without", why)}},
        {}});
  }
  if (bytes > k_toml_bytes) {
    return std::unexpected(ConfigFaults{path, {{k_no_line, fmt::format("longer than {} bytes", k_toml_bytes)}}, {}});
  }
  std::stringstream text;
  text << in.rdbuf();
  return parse_config(text.str(), path, settings);
}

std::vector<std::string> capabilities_of(const std::vector<std::string>& given, std::string_view role,
                                         const ExecutorConfig& executor) {
  if (!given.empty() || !kind_of(executor).offers_functions) return given;
  std::vector<std::string> all{"execute", "monitor", "report"};
  if (role == "specialist") all = {"analyze", "optimize", "refactor"};
  if (role == "coordinator") all = {"orchestrate", "schedule", "route"};
  all.insert(all.end(), executor.functions.begin(), executor.functions.end());
  return all;
}

}  // namespace skein::inline v0::node
