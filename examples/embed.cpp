// A node inside a program of one's own: a child of one's own supervisor, with a C++ function as an agent's work.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "skein/node/node.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

using namespace skein;
using namespace std::chrono_literals;

namespace {

// What a task of type "twice" does with its params, a number.
agent::FunctionOutcome twice(const dispatch::Order& order) {
  const int number = std::stoi(std::string(ledger::view_of(order.params)));
  return agent::FunctionResult{ledger::body_of(std::to_string(2 * number))};
}

int run(const std::string& data) {
  Runtime runtime;
  node::NodeSetup setup;
  setup.config = node::default_config();
  setup.config.node.data = data;
  setup.config.node.log_level = "error";
  setup.config.http.enabled = false;  // only this program uses it
  setup.functions.emplace("twice", twice);
  const auto node = node::Node::prepare(runtime, std::move(setup));
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().message.c_str());
    return 1;
  }
  const SupervisorSpec mine = trees::supervisor("my_program", trees::one_for_one, {3, 60s}, {(*node)->child("node")});
  const auto started = start_supervisor(runtime, mine);
  int code = 1;
  if (started) {
    const auto operations = (*node)->hooks().operations();
    operations::SubmitRequest request;
    request.type = "twice";
    request.params = "21";
    const auto task = operations::ask<operations::SubmitAnswer>(
        [&](auto reply) { operations->task_submit(request, std::move(reply)); });
    if (task) {
      const operations::WaitRequest wait{task->id, 20s};
      const auto done = operations::ask<operations::WaitAnswer>(
          [&](auto reply) { operations->task_wait(wait, {}, std::move(reply)); });
      if (done && done->finished) {
        std::printf("twice 21 is %s\n", std::string(ledger::view_of(done->status.finished->result)).c_str());
        code = 0;
      }
    }
  }
  if (started) stop_tree(runtime, started->pid, 20s);
  runtime.shutdown(5s);
  return code;
}

}  // namespace

int main() {
  const auto data = std::filesystem::temp_directory_path() / ("skein-embed-" + std::to_string(::getpid()));
  const int code = run(data.string());
  std::filesystem::remove_all(data);
  return code;
}
