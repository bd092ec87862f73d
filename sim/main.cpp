#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulation.hpp"

namespace {

void help(std::FILE* to) {
  fmt::print(to, "usage: skein-sim WHAT ...\n");
  if (skein::sim::simulations().empty()) fmt::print(to, "this build has no simulations\n");
  for (const auto& each : skein::sim::simulations()) fmt::print(to, "  skein-sim {}\n", each.usage);
}

int usage(std::string_view problem) {
  fmt::print(stderr, "skein-sim: {}\n", problem);
  help(stderr);
  return skein::sim::k_bad_usage;
}

int run(const std::vector<std::string>& args) {
  if (args.empty()) return usage("what shall be simulated?");
  if (args.front() == "--help" || args.front() == "-h") {
    help(stdout);
    return 0;
  }
  const auto& all = skein::sim::simulations();
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return each.name == args.front(); });
  if (found == all.end()) return usage(fmt::format("unknown simulation '{}'", args.front()));
  return found->run(std::span(args).subspan(1));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    // An exception is a defect of the simulated code or of the simulator; neither may pass as a clean run.
    std::fprintf(stderr, "skein-sim: %s\n", error.what());
    return skein::sim::k_violated;
  }
}
