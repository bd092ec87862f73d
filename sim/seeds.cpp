#include "sim/seeds.hpp"

#include <charconv>
#include <string_view>

namespace skein::sim {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes what stands at `at`, and its value, out of the arguments; false when it means nothing.
bool take(Seeds& seeds, std::span<const std::string> args, std::size_t& at) {
  const std::string& name = args[at++];
  if (name == "--trace") return seeds.trace = true;
  if (name == "--first") return seeds.first = true;
  const auto value = at < args.size() ? number(args[at++]) : std::nullopt;
  if (!value) return false;
  if (name == "--seeds") {
    seeds.count = *value;
  } else if (name == "--start") {
    seeds.start = *value;
  } else if (name == "--seed") {
    seeds.start = *value;
    seeds.count = 1;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Seeds> read_seeds(std::span<const std::string> args, std::uint64_t count_default, const char* usage) {
  Seeds seeds{.count = count_default};
  for (std::size_t at = 0; at < args.size();) {
    if (take(seeds, args, at)) continue;
    fmt::print(stderr, "skein-sim: '{}' is not understood\nusage: skein-sim {}\n", fmt::join(args, " "), usage);
    return std::nullopt;
  }
  return seeds;
}

}  // namespace skein::sim
