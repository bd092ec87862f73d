// What the demo's node runs: its config and its agents' programs, written into the demo's folder, and the tasks they
// get. Pure but for write().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace skein::cli {

struct DemoOptions {
  std::uint64_t agents = 3;  // of each kind
  std::uint64_t tasks = 10;
  std::uint64_t timeout_ms = 60'000;
  std::string log_level = "warning";
  bool json = false;
};

struct DemoTask {
  enum class Kind : std::uint8_t { think, measure, echo, fails, cancelled };
  Kind kind = Kind::echo;
  std::string priority;
  std::string expected;         // of its result: the text that must be in it
  boost::json::object request;  // for task_submit
  std::string id{};             // once it is accepted
};

// As many as asked for, of all kinds; the first one, and the first of the second half, think.
[[nodiscard]] std::vector<DemoTask> demo_tasks(const DemoOptions& options);
[[nodiscard]] const char* name_of(DemoTask::Kind kind);

struct DemoPrograms {
  bool has_python = false;
  std::string config;  // file
};
// Writes skein.toml and the agents into `folder`; `mark` is handed to each of their OS processes.
[[nodiscard]] DemoPrograms write_demo(const std::string& folder, const std::string& mark, const DemoOptions& options);

inline constexpr int k_think_steps = 30;

}  // namespace skein::cli
