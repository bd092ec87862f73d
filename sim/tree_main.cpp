// `skein-sim tree`: runs a tree script and prints its transcript.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/simulation.hpp"
#include "sim/tree_run.hpp"

namespace skein::sim {
namespace {

int bad(const std::string& problem) {
  fmt::print(stderr, "skein-sim tree: {}\nusage: skein-sim tree FILE [--seed S]\n", problem);
  return k_bad_usage;
}

int run_tree(std::span<const std::string> args) {
  std::uint64_t seed = 1;
  if (args.size() == 3 && args[1] == "--seed") {
    try {
      seed = std::stoull(args[2]);
    } catch (const std::exception&) {
      return bad(fmt::format("'{}' is not a seed", args[2]));
    }
  } else if (args.size() != 1) {
    return bad("which file?");
  }
  std::ifstream file(args[0], std::ios::binary);
  if (!file) return bad(fmt::format("{} cannot be read", args[0]));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto script = parse_tree_script(text);
  if (!script) {
    fmt::print(stderr, "skein-sim tree: {}:{}\n", args[0], script.error());
    return k_bad_usage;
  }
  fmt::print("{}", run_tree_script(*script, seed));
  return k_nothing_violated;
}

const Registrar k_tree{{.name = "tree", .usage = "tree FILE [--seed S]", .run = run_tree}};

}  // namespace
}  // namespace skein::sim
