#include "skein/node/config_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

#include "skein/node/executor_kinds.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_usual_path = "/usr/local/bin:/usr/bin:/bin";  // as the launcher has it

bool may_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

std::optional<std::string> problem_with_program(const ExecutorConfig& config) {
  const std::string& program = config.command.front();
  std::error_code error;
  if (program.find('/') != std::string::npos) {
    const fs::path place = fs::path(config.directory) / program;
    if (may_run(place)) return std::nullopt;
    return fmt::format("{} {}", place.string(),
                       fs::exists(place, error) ? "may not be run; make it executable" : "is not there");
  }
  std::string path(k_usual_path);
  for (const std::string& each : environment_of(config)) {
    if (each.starts_with("PATH=")) path = each.substr(5);
  }
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t colon = std::min(path.find(':', from), path.size());
    if (may_run(fs::path(path.substr(from, colon - from)) / program)) return std::nullopt;
    from = colon + 1;
  }
  return fmt::format("'{}' is in no folder of its PATH, {}", program, path);
}

}  // namespace

std::vector<ConfigFault> check_surroundings(const Config& config) {
  std::vector<ConfigFault> faults = config.misfits;
  for (const auto& [name, each] : config.executors) {
    if (!kind_of(each).runs_programs) continue;
    const auto known = config.executor_lines.find(name);
    const ExecutorLines lines = known != config.executor_lines.end() ? known->second : ExecutorLines{};
    std::error_code error;
    if (!each.directory.empty() && !fs::is_directory(each.directory, error)) {
      faults.push_back(
          {lines.directory, fmt::format("[executors.{}] directory: there is no folder {}", name, each.directory)});
    } else if (const auto problem = problem_with_program(each)) {
      faults.push_back({lines.command, fmt::format("[executors.{}] command: {}", name, *problem)});
    }
  }
  std::ranges::sort(faults, {}, [](const ConfigFault& each) { return std::tie(each.line, each.message); });
  return faults;
}

}  // namespace skein::inline v0::node
