#include "skein/node/config_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>

#include "skein/agent/function_executor.hpp"
#include "skein/base/suggestion.hpp"
#include "skein/node/executor_identity.hpp"
#include "skein/node/executor_kinds.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_usual_path = "/usr/local/bin:/usr/bin:/bin";  // as the launcher has it
constexpr uid_t k_root = 0;  // whether the node may is its own to say: who checks its config need not be who runs it
constexpr std::size_t k_first_line_bytes = 256;  // that the kernel looks at

bool may_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

// Where the executor's programs are looked for.
std::string path_of(const ExecutorConfig& config) {
  std::string path(k_usual_path);
  for (const std::string& each : environment_of(config)) {
    if (each.starts_with("PATH=")) path = each.substr(5);
  }
  return path;
}

std::optional<fs::path> find_program(const std::string& program, const std::string& path) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t colon = std::min(path.find(':', from), path.size());
    fs::path place = fs::path(path.substr(from, colon - from)) / program;
    if (may_run(place)) return place;
    from = colon + 1;
  }
  return std::nullopt;
}

// The words of a script's first line, as the kernel reads it; none: it is no script.
std::vector<std::string> interpreter_of(const fs::path& program) {
  std::array<char, k_first_line_bytes> first{};
  std::ifstream in(program, std::ios::binary);
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  std::string line(first.data(), static_cast<std::size_t>(in.gcount()));
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::vector<std::string> all;
  for (std::string each; words >> each;) all.push_back(std::move(each));
  return all;
}

// Of a script: what it says that runs it is not there.
std::optional<std::string> problem_with_interpreter(const fs::path& program, const std::string& path) {
  const auto words = interpreter_of(program);
  if (words.empty()) return std::nullopt;
  if (!may_run(words.front())) {
    return fmt::format("{} names the interpreter {}, which does not exist", program.string(), words.front());
  }
  // '#!/usr/bin/env [-S] python3'
  if (fs::path(words.front()).filename() != "env") return std::nullopt;
  const auto named = std::ranges::find_if(words.begin() + 1, words.end(), [](const std::string& each) {
    return !each.starts_with('-') && each.find('=') == std::string::npos;
  });
  if (named == words.end() || named->find('/') != std::string::npos || find_program(*named, path)) return std::nullopt;
  return fmt::format("{} names the interpreter '{}', which is in no folder of its PATH, {}", program.string(), *named,
                     path);
}

std::optional<std::string> problem_with_program(const ExecutorConfig& config) {
  if (config.command.empty() || config.command.front().empty()) return std::nullopt;  // reading the file has said so
  const std::string& program = config.command.front();
  const std::string path = path_of(config);
  std::error_code error;
  if (program.find('/') == std::string::npos) {
    const auto found = find_program(program, path);
    if (!found) return fmt::format("'{}' is in no folder of its PATH, {}", program, path);
    return problem_with_interpreter(*found, path);
  }
  const fs::path place = fs::path(config.directory) / program;
  if (may_run(place)) return problem_with_interpreter(place, path);
  return fmt::format("{} {}", place.string(),
                     fs::exists(place, error) ? "is not executable; run 'chmod +x' on it" : "is not there");
}

// Function executors: names that no function has.
void check_functions(const ExecutorConfig& config, const std::string& name, std::uint32_t line,
                     const std::vector<std::string>& more, std::vector<ConfigFault>& faults) {
  std::vector<std::string> known = agent::built_in_types();
  known.insert(known.end(), more.begin(), more.end());
  for (const std::string& each : config.functions) {
    if (std::ranges::find(known, each) != known.end()) continue;
    faults.push_back({line, fmt::format("[executors.{}] functions: there is no function '{}'{}", name, each,
                                        suggestion(each, {known.begin(), known.end()}))});
  }
}

// Whom the programs run as: user and group each by itself, so that one does not hide the other.
void check_identity(const ExecutorConfig& config, const std::string& name, const ExecutorLines& lines,
                    std::vector<ConfigFault>& faults) {
  ExecutorConfig only = config;
  only.group.clear();
  if (const auto user = user_of(only, name, k_root); !user) faults.push_back({lines.user, user.error()});
  only.user.clear();
  only.group = config.group;
  if (const auto group = user_of(only, name, k_root); !group) faults.push_back({lines.group, group.error()});
}

// Where the programs run, and whether they are there. A program that is named relative to a folder that is missing is
// missing with it.
void check_program(const ExecutorConfig& config, const std::string& name, const ExecutorLines& lines,
                   std::vector<ConfigFault>& faults) {
  std::error_code error;
  const bool has_folder = config.directory.empty() || fs::is_directory(config.directory, error);
  if (!has_folder) {
    faults.push_back(
        {lines.directory, fmt::format("[executors.{}] directory: there is no folder {}", name, config.directory)});
  }
  const std::string program = config.command.empty() ? std::string() : config.command.front();
  const bool is_in_folder = program.find('/') != std::string::npos && !program.starts_with('/');
  if (!has_folder && is_in_folder) return;
  if (const auto problem = problem_with_program(config)) {
    faults.push_back({lines.command, fmt::format("[executors.{}] command: {}", name, *problem)});
  }
}

}  // namespace

std::vector<ConfigFault> check_surroundings(const Config& config, const std::vector<std::string>& functions) {
  std::vector<ConfigFault> faults = config.misfits;
  for (const auto& [name, each] : config.executors) {
    const ExecutorKind* kind = find_executor_kind(each.kind);
    if (kind == nullptr) continue;
    const auto known = config.executor_lines.find(name);
    const ExecutorLines lines = known != config.executor_lines.end() ? known->second : ExecutorLines{};
    if (kind->offers_functions) check_functions(each, name, lines.functions, functions, faults);
    if (!kind->runs_programs) continue;
    check_identity(each, name, lines, faults);
    check_program(each, name, lines, faults);
  }
  for (const AgentConfig& each : config.agents) {
    if (each.swarm == k_default_swarm || config.swarms.contains(each.swarm)) continue;
    std::vector<std::string_view> known{k_default_swarm};
    for (const auto& [name, swarm] : config.swarms) known.emplace_back(name);
    faults.push_back({0, fmt::format("[[agents]] '{}': there is no [swarms.{}]{}; a swarm that is created at run time "
                                     "must exist before its tasks are submitted",
                                     each.id, each.swarm, suggestion(each.swarm, known))});
  }
  std::ranges::sort(faults, {}, [](const ConfigFault& each) { return std::tie(each.line, each.message); });
  return faults;
}

ConfigFaults check_config(const ConfigResult& config, const std::string& file) {
  if (config) return {file, check_surroundings(*config), {}};
  ConfigFaults found = config.error();
  if (!found.read) return found;
  // By line; of one line, what is wrong with its keys first.
  std::multimap<std::uint32_t, ConfigFault> by_line;
  for (ConfigFault& each : found.faults) by_line.emplace(each.line, std::move(each));
  for (ConfigFault& each : check_surroundings(*found.read)) by_line.emplace(each.line, std::move(each));
  found.faults.clear();
  for (auto& [line, fault] : by_line) found.faults.push_back(std::move(fault));
  return found;
}

}  // namespace skein::inline v0::node
