#include "sim/tree_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace skein::sim {
namespace {

// What a script may ask for, so that a slip of the pen does not run for hours.
constexpr std::uint64_t k_number_max = 1'000'000'000;
constexpr std::size_t k_nodes_max = 10'000;

struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view k_space = " \t\r";
  const auto begin = text.find_first_not_of(k_space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(k_space) - begin + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > k_number_max) {
    throw BadLine(fmt::format("'{}' is not a number up to {}", text, k_number_max));
  }
  return value;
}

Duration milliseconds(std::string_view text) { return std::chrono::milliseconds(number(text)); }

std::vector<std::uint64_t> numbers(std::string_view text) {
  std::vector<std::uint64_t> values;
  for (const std::string& each : split(text, ',')) values.push_back(number(each));
  return values;
}

template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, std::size_t N>
T one_of(std::string_view text, const std::array<Word<T>, N>& words) {
  for (const auto& each : words) {
    if (each.word == text) return each.value;
  }
  std::string known;
  for (const auto& each : words) known += (known.empty() ? "" : ", ") + std::string(each.word);
  throw BadLine(fmt::format("'{}' is none of {}", text, known));
}

constexpr std::array<Word<Restart>, 3> k_restarts{
    {{"permanent", Restart::permanent}, {"transient", Restart::transient}, {"temporary", Restart::temporary}}};
// A pool is a kind of node here.
constexpr std::size_t k_pools = 1;
constexpr auto k_tree_strategies = [] {
  std::array<Word<Strategy>, k_strategies.size() - k_pools> words{};
  std::size_t count = 0;
  for (const StrategyRow& row : k_strategies) {
    if (!row.is_pool) words[count++] = {row.name, row.strategy};
  }
  return words;
}();
constexpr std::array<Word<AutoShutdown>, 3> k_auto_shutdowns{{{"never", AutoShutdown::never},
                                                              {"any_significant", AutoShutdown::any_significant},
                                                              {"all_significant", AutoShutdown::all_significant}}};
constexpr std::array<Word<TreeKind>, 3> k_kinds{
    {{"supervisor", TreeKind::supervisor}, {"worker", TreeKind::worker}, {"pool", TreeKind::pool}}};

Shutdown shutdown_of(std::string_view text) {
  if (text == "infinity") return Shutdown::infinity();
  if (text == "brutal_kill") return Shutdown::brutal_kill();
  return Shutdown::after(milliseconds(text));
}

void set_option(TreeNode& node, std::string_view key, std::string_view value) {
  const bool worker = node.kind == TreeKind::worker;
  if (key == "restart") {
    node.restart = one_of(value, k_restarts);
  } else if (key == "shutdown") {
    node.shutdown = shutdown_of(value);
  } else if (key == "significant") {
    node.significant = true;
  } else if (worker && key == "fails") {
    node.fails = numbers(value);
  } else if (worker && key == "ignores") {
    node.ignores = numbers(value);
  } else if (worker && key == "traps") {
    node.traps = true;
  } else if (worker && key == "slow") {
    node.slow = milliseconds(value);
  } else if (worker && key == "unlinks") {
    node.unlinks = true;
  } else if (!worker && key == "intensity") {
    node.flags.intensity = static_cast<std::uint32_t>(number(value));
  } else if (!worker && key == "period") {
    node.flags.period = std::chrono::seconds(number(value));
  } else if (node.kind == TreeKind::supervisor && key == "strategy") {
    node.flags.strategy = one_of(value, k_tree_strategies);
  } else if (node.kind == TreeKind::supervisor && key == "auto_shutdown") {
    node.flags.auto_shutdown = one_of(value, k_auto_shutdowns);
  } else if (node.kind == TreeKind::pool && key == "child_restart") {
    node.child_restart = one_of(value, k_restarts);
  } else if (node.kind == TreeKind::pool && key == "child_shutdown") {
    node.child_shutdown = shutdown_of(value);
  } else {
    throw BadLine(fmt::format("a {} has no option '{}'", k_kinds.at(static_cast<std::size_t>(node.kind)).word, key));
  }
}

TreeNode make_node(TreeKind kind, std::string name, std::string parent, std::span<const std::string> options) {
  TreeNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.parent = std::move(parent);
  if (kind != TreeKind::worker) node.shutdown = Shutdown::infinity();
  if (kind == TreeKind::pool) node.flags.strategy = Strategy::simple_one_for_one;
  for (const std::string& each : options) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string_view value = std::string_view(each).substr(std::min(equals + 1, each.size()));
    set_option(node, std::string_view(each).substr(0, equals), value);
  }
  return node;
}

void add_declaration(TreeScript& script, const std::vector<std::string>& words) {
  if (words.size() < 4 || words[2] != "under") throw BadLine("expected 'supervisor|worker|pool NAME under PARENT ...'");
  TreeNode node = make_node(one_of(words[0], k_kinds), words[1], words[3], std::span(words).subspan(4));
  const auto named = [&](const std::string& name) {
    return std::ranges::find_if(script.nodes, [&](const TreeNode& each) { return each.name == name; });
  };
  if (script.nodes.size() >= k_nodes_max) throw BadLine(fmt::format("more than {} declarations", k_nodes_max));
  if (named(node.name) != script.nodes.end()) throw BadLine(fmt::format("'{}' is declared twice", node.name));
  if (script.nodes.empty()) {
    if (node.parent != "-" || node.kind == TreeKind::worker) throw BadLine("the first must be a supervisor under '-'");
  } else {
    const auto parent = named(node.parent);
    if (parent == script.nodes.end()) throw BadLine(fmt::format("'{}' is not declared above", node.parent));
    if (parent->kind != TreeKind::supervisor) throw BadLine(fmt::format("'{}' is not a supervisor", node.parent));
  }
  script.nodes.push_back(std::move(node));
}

TreeCommand make_command(std::string_view text, std::vector<std::string> words) {
  const std::string& verb = words.front();
  const std::size_t given = words.size();
  const auto needs = [&](std::size_t count) {
    if (given != count) throw BadLine(fmt::format("'{}' takes {} words after it, not {}", verb, count - 1, given - 1));
  };
  TreeCommand command;
  command.text = text;
  if (verb == "start" || verb == "stop") {
    needs(1);
  } else if (verb == "crash" || verb == "count") {
    needs(2);
  } else if (verb == "wait") {
    needs(2);
    (void)number(words[1]);
  } else if (verb == "exit") {
    needs(3);
    if (words[2] != "normal" && words[2] != "shutdown" && words[2] != "kill") {
      throw BadLine(fmt::format("'{}' is none of normal, shutdown, kill", words[2]));
    }
  } else if (verb == "terminate_child" || verb == "restart_child" || verb == "delete_child") {
    needs(3);
  } else if (verb == "start_child") {
    needs(4);
    if (words[2] != "as") throw BadLine("expected 'start_child POOL as NAME'");
  } else if (verb == "start_worker") {
    if (given < 3) throw BadLine("expected 'start_worker SUP NAME OPTIONS'");
    command.worker = make_node(TreeKind::worker, words[2], words[1], std::span(words).subspan(3));
  } else {
    throw BadLine(fmt::format("unknown command '{}'", verb));
  }
  command.words = std::move(words);
  return command;
}

void add_line(TreeScript& script, std::string_view line) {
  std::vector<std::string> words = split(line, ' ');
  if (script.commands.empty() && line != "start") {
    add_declaration(script, words);
    return;
  }
  if (script.nodes.empty()) throw BadLine("nothing is declared to start");
  if (!script.commands.empty() && line == "start") throw BadLine("'start' was given already");
  script.commands.push_back(make_command(line, std::move(words)));
}

}  // namespace

std::expected<TreeScript, std::string> parse_tree_script(std::string_view text) {
  TreeScript script;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    try {
      add_line(script, line);
    } catch (const BadLine& problem) {
      return std::unexpected(fmt::format("{}: {}", number, problem.what()));
    }
  }
  if (script.commands.empty()) return std::unexpected(fmt::format("{}: no 'start' was found", number));
  return script;
}

}  // namespace skein::sim
