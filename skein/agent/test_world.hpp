// The whole stack on virtual time, for tests of agents: journal, ledger, dispatcher. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/agent/function_agent.hpp"
#include "skein/dispatch/local_journal.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::agent {

inline ledger::TaskId id_of(std::uint64_t n) { return {0x0190'0000'0000'7000ULL, n}; }

class TestWorld {
 public:
  explicit TestWorld(std::uint64_t seed = 1) : random_(seed), runtime(tests::seeded(seed)) { journal.start(runtime); }
  ~TestWorld() { runtime.shutdown(); }

  Pid start_dispatcher(dispatch::DispatcherOptions options = {}) {
    auto setup = std::make_unique<dispatch::DispatcherSetup>();
    setup->runtime = &runtime;
    setup->journal = &journal;
    setup->ledger = &ledger;
    setup->options = std::move(options);
    setup->wall_clock = [this] { return wall(); };
    setup->entropy = [this] { return random_.next(); };
    setup->on_event = [this](const dispatch::DispatchEvent& event) { events.push_back(event); };
    SpawnOptions spawn;
    spawn.name = dispatch::k_dispatcher_name;
    return dispatcher = runtime.spawn_with<dispatch::Dispatcher>(spawn, std::move(setup));
  }
  Pid start_agent(const std::string& id, std::uint32_t capacity = 2, TaskFunction function = built_in) {
    auto options = std::make_unique<FunctionAgentOptions>();
    options->name = id;
    options->capabilities = built_in_types();
    options->prefetch = capacity - 1;
    options->function = std::move(function);
    return runtime.spawn<Agent>(std::move(options));
  }
  ledger::WallMs wall() {
    return 1'000'000 +
           static_cast<ledger::WallMs>(
               std::chrono::duration_cast<std::chrono::milliseconds>(runtime.now().time_since_epoch()).count());
  }
  ledger::Submit submit(std::uint64_t n, std::string type = "echo", std::string_view params = "hello") {
    ledger::Submit op;
    op.id = id_of(n);
    op.at = wall();
    op.spec.type = std::move(type);
    op.spec.params = ledger::body_of(params);
    return op;
  }
  void append(const ledger::Op& op) {
    journal::Batch batch;
    batch.push_back({{99, ++commands_}, ledger::encode_command(op)});
    journal.append(
        std::move(batch), [](journal::AppendAnswer answer) { ASSERT_EQ(answer.outcome, journal::Outcome::applied); },
        journal::Urgency::completion);
  }
  ledger::State state(std::uint64_t n) {
    const auto found = ledger.find(id_of(n));
    return found ? (found->finished ? found->finished->task.state : found->task.state)
                 : ledger::State::awaiting_approval;
  }
  ledger::TaskView view(std::uint64_t n) { return *ledger.find(id_of(n)); }
  dispatch::DispatcherStatus status() {
    return *runtime.call<dispatch::Dispatcher>(dispatcher, dispatch::GetDispatcherStatus{});
  }
  bool saw(dispatch::DispatchEvent::Kind kind) const {
    return std::any_of(events.begin(), events.end(), [&](const auto& each) { return each.kind == kind; });
  }

  std::vector<dispatch::DispatchEvent> events;
  ledger::Ledger ledger;
  dispatch::LocalJournal journal{ledger};
  Pid dispatcher;

 private:
  Random random_;
  std::uint64_t commands_ = 0;

 public:
  Runtime runtime;
};

}  // namespace skein::inline v0::agent
