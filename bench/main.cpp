#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.hpp"
#include "skein/launcher/launcher.hpp"

namespace skein::bench {

std::vector<Workload>& workloads() {
  static std::vector<Workload> list;
  return list;
}

namespace {

constexpr int k_exit_failed = 1;
constexpr int k_exit_usage = 2;

void help(std::FILE* to) {
  fmt::print(to, "usage: skein-bench GROUP [--only a,b]\n");
  if (workloads().empty()) fmt::print(to, "this build has no workloads\n");
  for (const Workload& each : workloads()) fmt::print(to, "  {} {} ({})\n", each.group, each.name, each.unit);
}

int usage(std::string_view problem) {
  fmt::print(stderr, "skein-bench: {}\n", problem);
  help(stderr);
  return k_exit_usage;
}

std::set<std::string, std::less<>> split(std::string_view names) {
  std::set<std::string, std::less<>> parts;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    if (comma > 0) parts.emplace(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return parts;
}

int run(std::span<char*> args) {
  if (args.empty()) return usage("which group?");
  const std::string_view group = args[0];
  if (group == "--help" || group == "-h") {
    help(stdout);
    return 0;
  }
  std::set<std::string, std::less<>> only;
  if (args.size() == 3 && std::string_view(args[1]) == "--only") {
    only = split(args[2]);
    if (only.empty()) return usage("--only names no workload");
  } else if (args.size() != 1) {
    return usage(fmt::format("'{}' is not understood", args[1]));
  }

  std::vector<Workload> chosen;
  std::ranges::copy_if(workloads(), std::back_inserter(chosen),
                       [&](const Workload& each) { return each.group == group; });
  if (chosen.empty()) return usage(fmt::format("unknown group '{}'", group));
  for (const std::string& name : only) {
    const bool known = std::ranges::any_of(chosen, [&](const Workload& each) { return each.name == name; });
    if (!known) return usage(fmt::format("group '{}' has no workload '{}'", group, name));
  }
  for (const Workload& each : chosen) {
    if (!only.empty() && !only.contains(std::string_view(each.name))) continue;
    fmt::print("skein {} {} {:.2f}\n", each.name, each.unit, each.run());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  try {
    // What starts OS processes is forked before any workload makes a thread.
    skein::launcher::Launcher::fork_early();
    return skein::bench::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skein-bench: %s\n", error.what());
    return skein::bench::k_exit_failed;
  }
}
