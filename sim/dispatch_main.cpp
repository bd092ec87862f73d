// `skein-sim dispatch`: runs dispatch scripts and prints their transcripts.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "sim/dispatch_script.hpp"
#include "sim/simulation.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_dispatch_usage = "dispatch FILE...";

int run_dispatch(std::span<const std::string> args) {
  if (args.empty()) {
    fmt::print(stderr, "skein-sim dispatch: which file?\nusage: skein-sim {}\n", k_dispatch_usage);
    return k_bad_usage;
  }
  for (const std::string& path : args) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      fmt::print(stderr, "skein-sim dispatch: {} cannot be read\n", path);
      return k_bad_usage;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    try {
      const auto transcript = run_dispatch_script(text);
      fmt::print("{}", transcript.text);
      if (transcript.problem.empty()) continue;
      fmt::print(stderr, "skein-sim dispatch: {}:{}\n", path, transcript.problem);
      return k_bad_usage;
    } catch (const std::logic_error& violated) {
      fmt::print(stderr, "skein-sim dispatch: {}: {}\n", path, violated.what());
      return k_violated;
    }
  }
  return k_nothing_violated;
}

const Registrar k_dispatch{{.name = "dispatch", .usage = k_dispatch_usage, .run = run_dispatch}};

}  // namespace
}  // namespace skein::sim
