// A node inside a program of your own: a task that is on disk before submit() returns, done by a C++ function.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <string>
#include <utility>

#include "skein/skein.hpp"

namespace {

// What a task of type "twice" does. Its params are one JSON value, here a number; so is its result.
std::expected<std::string, skein::TaskFailure> twice(const skein::TaskInput& task) {
  int number = 0;
  const char* const end = task.params.data() + task.params.size();
  if (std::from_chars(task.params.data(), end, number).ptr != end) {
    return std::unexpected(skein::TaskFailure{.message = "the params are no number", .is_permanent = true});
  }
  return std::to_string(2 * number);
}

int run(const std::string& data) {
  skein::NodeConfig config;
  config.data = data;
  config.settings = {"node.log_level=error"};  // as in `skein up --set`; docs/config.md has all of them
  config.functions["twice"] = twice;
  skein::Node node = skein::Node::start(std::move(config));

  const skein::SubmittedTask task = node.submit({.type = "twice", .params = "21"});
  const skein::TaskReport done = node.wait(task.id, std::chrono::seconds(20));
  std::printf("twice 21 is %s, says %s\n", done.result.c_str(), done.agent.c_str());

  try {
    (void)node.submit({.type = "twice", .swarm = "geese"});
  } catch (const skein::NodeError& error) {
    std::printf("%s: %s\n", std::string(name_of(error.kind())).c_str(), error.what());
  }
  return node.stop() && done.result == "42" ? 0 : 1;
}

}  // namespace

int main() {
  const auto data = std::filesystem::temp_directory_path() / ("skein-embed-" + std::to_string(::getpid()));
  int code = 1;
  try {
    code = run(data.string());
  } catch (const skein::NodeError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::filesystem::remove_all(data);
  return code;
}
