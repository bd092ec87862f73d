// `skein-sim raft-transcript`: runs a transcript on our consensus core and says where the two differ.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/raft_transcript.hpp"
#include "sim/simulation.hpp"

namespace skein::sim {
namespace {

int bad(const std::string& problem) {
  fmt::print(stderr, "skein-sim raft-transcript: {}\nusage: skein-sim raft-transcript FILE [--ours]\n", problem);
  return k_bad_usage;
}

int run_transcript(std::span<const std::string> args) {
  const bool prints_ours = args.size() == 2 && args[1] == "--ours";
  if (args.size() != 1 && !prints_ours) return bad("which file?");
  std::ifstream file(args[0], std::ios::binary);
  if (!file) return bad(fmt::format("{} cannot be read", args[0]));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto commands = parse_transcript(text);
  const auto result = commands ? run_raft_transcript(*commands) : std::unexpected(commands.error());
  if (!result) {
    fmt::print(stderr, "skein-sim raft-transcript: {}:{}\n", args[0], result.error());
    return k_bad_usage;
  }
  if (prints_ours) {
    fmt::print("{}", with_outputs(text, *commands, result->outputs));
    return k_nothing_violated;
  }
  for (const auto& each : result->differences) {
    fmt::print("{}: {}\n", each.line, each.command);
    for (const auto& line : each.missing) fmt::print("  - {}\n", line);
    for (const auto& line : each.added) fmt::print("  + {}\n", line);
    if (each.missing.empty() && each.added.empty()) fmt::print("  the order differs\n");
  }
  fmt::print("{} commands, {} things compared, {} commands differ\n", commands->size(), result->compared,
             result->differences.size());
  return result->differences.empty() ? k_nothing_violated : k_violated;
}

const Registrar k_transcript{
    {.name = "raft-transcript", .usage = "raft-transcript FILE [--ours]", .run = run_transcript}};

}  // namespace
}  // namespace skein::sim
