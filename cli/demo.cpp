// `skein demo`: a few processes, a crash, and who was told. Everything printed happened.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "cli/verbs.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::cli {
namespace {

struct Work {
  int number = 0;
};
struct Seen {
  using Answer = std::string;
};

// Squares numbers; thirteen it can't bear.
struct Worker {
  int handle_call(Self, Work work) {
    if (work.number == 13) throw std::runtime_error("thirteen is unlucky");
    return work.number * work.number;
  }
};

// Is linked to a worker and dies with it.
struct Helper {
  Helper(Self self, Pid worker) { self.link(worker); }
};

// Traps exits and is linked to a worker: gets a message instead of dying.
struct Trapper {
  std::string heard = "nothing";
  Trapper(Self self, Pid worker) {
    self.trap_exit(true);
    self.link(worker);
  }
  void handle_info(Self, Message message) {
    if (const Exit* exit = message.get_if<Exit>()) heard = exit->reason.text();
  }
  std::string handle_call(Self, Seen) { return heard; }
};

struct Outcome {
  std::string answer;
  std::string failure;
  std::string down;
  std::string helper;
  std::string trapper;
  bool name_free = false;
  bool successor_works = false;
};

Task<Outcome> crash_and_watch(Self self) {
  Outcome outcome;
  auto starting = self.start<Worker>(SpawnOptions{.name = "worker"});
  const StartResult worker = co_await starting;
  const Pid pid = worker->pid;
  auto start_helper = self.start<Helper>(SpawnOptions{}, pid);
  const StartResult helper = co_await start_helper;
  auto start_trapper = self.start<Trapper>(SpawnOptions{}, pid);
  const StartResult trapper = co_await start_trapper;
  const MonitorRef watch = self.monitor(pid);
  const MonitorRef watch_helper = self.monitor(helper->pid);

  auto first = self.call<Worker>(pid, Work{7});
  const auto answer = co_await first;
  outcome.answer = answer ? std::to_string(*answer) : answer.error().text();
  auto second = self.call<Worker>(pid, Work{13});
  const auto failure = co_await second;
  outcome.failure = failure ? std::to_string(*failure) : failure.error().text();
  outcome.name_free = !self.whereis("worker");
  auto down = self.down(watch);
  const auto reason = co_await down;
  outcome.down = reason->text();
  auto helper_down = self.down(watch_helper);
  const auto helper_reason = co_await helper_down;
  outcome.helper = helper_reason->text();
  auto ask = self.call<Trapper>(trapper->pid, Seen{});
  const auto heard = co_await ask;
  outcome.trapper = heard ? *heard : heard.error().text();

  auto again = self.start<Worker>(SpawnOptions{.name = "worker"});
  const StartResult successor = co_await again;
  auto third = self.call<Worker>(successor->pid, Work{12});
  const auto square = co_await third;
  outcome.successor_works = square && *square == 144;
  co_return outcome;
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void demo() {
  Runtime runtime;
  say("1. 100,000 processes");
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::uint32_t k_crowd = 100'000;
  for (std::uint32_t i = 0; i < k_crowd; ++i) runtime.spawn<Worker>();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  say(fmt::format("   {} are alive; spawning them took {:.0f} ms", runtime.process_count(), took.count()));

  say("2. a crash, and who was told");
  const auto outcome = runtime.run(&crash_and_watch);
  if (!outcome) {
    say("   the demo itself failed: " + outcome.error().text());
    throw CLI::RuntimeError(1);
  }
  say("   the worker is asked to square 7:   " + outcome->answer);
  say("   the worker is asked to square 13:  " + outcome->failure);
  say("   whoever monitors it gets a DOWN:   " + outcome->down);
  say("   a linked process dies with it:     " + outcome->helper);
  say("   a linked one that traps is told:   " + outcome->trapper);
  say(fmt::format("   its name is free at once:          {}", outcome->name_free ? "yes" : "no"));
  say(fmt::format("   a successor under that name works: {}", outcome->successor_works ? "yes" : "no"));

  say("3. the end");
  const ShutdownReport report = runtime.shutdown();
  say("   " + report.text());
  if (!outcome->name_free || !outcome->successor_works || !report.clean) throw CLI::RuntimeError(1);
}

}  // namespace

void add_demo(CLI::App& app) {
  app.add_subcommand("demo", "Show processes, a crash, and who was told")->callback(demo);
}

}  // namespace skein::cli
