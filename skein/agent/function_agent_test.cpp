// The whole stack on virtual time: journal, ledger, dispatcher and function agents.
#include "skein/agent/function_agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "skein/dispatch/local_journal.hpp"
#include "skein/ledger/invariants.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::agent {
namespace {

using namespace std::chrono_literals;
using dispatch::DispatchEvent;
using ledger::State;
using ledger::TaskId;
using testing::Contains;

TaskId id_of(std::uint64_t n) { return {0x0190'0000'0000'7000ULL, n}; }

class World {
 public:
  explicit World(std::uint64_t seed = 1) : random_(seed), runtime(tests::seeded(seed)) { journal.start(runtime); }
  ~World() { runtime.shutdown(); }

  Pid start_dispatcher(dispatch::DispatcherOptions options = {}) {
    auto setup = std::make_unique<dispatch::DispatcherSetup>();
    setup->runtime = &runtime;
    setup->journal = &journal;
    setup->ledger = &ledger;
    setup->options = std::move(options);
    setup->wall_clock = [this] { return wall(); };
    setup->entropy = [this] { return random_.next(); };
    setup->on_event = [this](const DispatchEvent& event) { events.push_back(event); };
    SpawnOptions spawn;
    spawn.name = dispatch::k_dispatcher_name;
    return dispatcher = runtime.spawn_with<dispatch::Dispatcher>(spawn, std::move(setup));
  }
  Pid start_agent(const std::string& id, std::uint32_t slots = 2, TaskFunction function = built_in) {
    auto options = std::make_unique<FunctionAgentOptions>();
    options->id = id;
    options->capabilities = built_in_types();
    options->slots = slots;
    options->function = std::move(function);
    return runtime.spawn<FunctionAgent>(std::move(options));
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
        std::move(batch), [](journal::Answer answer) { ASSERT_EQ(answer.outcome, journal::Outcome::applied); },
        journal::Urgency::completion);
  }
  State state(std::uint64_t n) {
    const auto found = ledger.find(id_of(n));
    return found ? (found->finished ? found->finished->task.state : found->task.state) : State::awaiting_approval;
  }
  ledger::TaskView view(std::uint64_t n) { return *ledger.find(id_of(n)); }
  dispatch::DispatcherStatus status() {
    return *runtime.call<dispatch::Dispatcher>(dispatcher, dispatch::GetDispatcherStatus{});
  }
  bool saw(DispatchEvent::Kind kind) const {
    return std::any_of(events.begin(), events.end(), [&](const auto& each) { return each.kind == kind; });
  }

  std::vector<DispatchEvent> events;
  ledger::Ledger ledger;
  dispatch::LocalJournal journal{ledger};
  Pid dispatcher;

 private:
  Random random_;
  std::uint64_t commands_ = 0;

 public:
  Runtime runtime;
};

TEST(FunctionAgent, completes_what_is_submitted_before_and_after_it_came) {
  World world;
  world.append(world.submit(1));
  world.start_dispatcher();
  world.start_agent("a");
  world.runtime.run_for(100ms);
  world.append(world.submit(2));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.state(2), State::completed);
  EXPECT_EQ(ledger::view_of(world.view(1).finished->result), "hello");
  EXPECT_EQ(world.status().counters.refused_ops, 0U);
}

TEST(FunctionAgent, many_agents_share_many_tasks_in_few_appends) {
  World world;
  world.start_dispatcher();
  for (int i = 0; i < 8; ++i) world.start_agent("agent" + std::to_string(i), 100);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 2'000; ++n) world.append(world.submit(n));
  const auto before = world.journal.appends;
  world.runtime.run_for(2s);
  for (std::uint64_t n = 1; n <= 2'000; ++n) ASSERT_EQ(world.state(n), State::completed) << n;
  EXPECT_LT(world.journal.appends - before, 500U);
  const auto status = world.status();
  EXPECT_EQ(status.tasks, 0U);
  EXPECT_EQ(status.runs, 0U);
  EXPECT_EQ(status.counters.refused_ops, 0U);
  EXPECT_EQ(status.counters.resyncs, 0U);
}

TEST(FunctionAgent, a_crash_costs_the_task_at_work_an_attempt_and_the_others_nothing) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 8);
  world.runtime.run_for(10ms);
  auto bad = world.submit(1, "crash");
  bad.spec.attempts_max = 1;
  world.append(bad);
  for (std::uint64_t n = 2; n <= 6; ++n) world.append(world.submit(n));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::failed);
  world.start_agent("b", 8);
  world.runtime.run_for(1s);
  for (std::uint64_t n = 2; n <= 6; ++n) {
    EXPECT_EQ(world.state(n), State::completed) << n;
    EXPECT_EQ(world.view(n).finished->task.attempts, 0U) << n;
  }
}

TEST(FunctionAgent, a_killed_agent_loses_nothing) {
  World world;
  world.start_dispatcher();
  const Pid first = world.start_agent("a");
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "1000"));
  world.runtime.run_for(100ms);
  ASSERT_EQ(world.state(1), State::executing);
  world.start_agent("b");
  world.runtime.exit(first, ExitReason::kill());
  world.runtime.run_for(5ms);
  EXPECT_EQ(ledger::view_of(world.view(1).task.agent), "b") << "not given to another agent at once";
  world.runtime.run_for(2s);
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.view(1).finished->task.attempts, 1U);
}

TEST(FunctionAgent, a_killed_dispatcher_loses_and_revokes_nothing) {
  World world;
  const Pid old = world.start_dispatcher();
  world.start_agent("a");
  world.start_agent("b");
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "3000"));
  world.append(world.submit(2, "sleep", "50"));
  for (std::uint64_t n = 3; n <= 50; ++n) world.append(world.submit(n));
  world.runtime.run_for(20ms);
  const auto fence = world.view(1).task.fence;
  world.runtime.exit(old, ExitReason::kill());
  world.runtime.run_for(100ms);
  world.start_dispatcher();
  world.runtime.run_for(5s);
  for (std::uint64_t n = 1; n <= 50; ++n) EXPECT_EQ(world.state(n), State::completed) << n;
  EXPECT_EQ(world.view(1).finished->task.fence, fence) << "it was revoked though its agent went on";
}

TEST(FunctionAgent, a_dispatcher_killed_at_any_moment_still_finishes_everything) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    World world(seed);
    Random random(seed * 77);
    world.start_dispatcher();
    for (int i = 0; i < 3; ++i) world.start_agent("a" + std::to_string(i), 4);
    std::uint64_t n = 0;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 20; ++i) {
        ++n;
        world.append(random.chance(0.2) ? world.submit(n, "sleep", "40") : world.submit(n));
      }
      world.runtime.run_for(std::chrono::microseconds(random.below(5'000)));
      world.runtime.exit(world.dispatcher, ExitReason::kill());
      world.runtime.run_for(std::chrono::microseconds(1 + random.below(30'000)));
      world.start_dispatcher();
      world.runtime.run_for(std::chrono::microseconds(random.below(60'000)));
    }
    world.runtime.run_for(40s);
    for (std::uint64_t i = 1; i <= n; ++i)
      ASSERT_EQ(world.state(i), State::completed) << "seed " << seed << " task " << i;
    const auto status = world.status();
    ASSERT_EQ(status.runs, 0U) << "seed " << seed;
    ASSERT_EQ(status.counters.refused_ops, 0U) << "seed " << seed;
  }
}

TEST(FunctionAgent, overload_and_doubt_delay_but_lose_nothing) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 4);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 20; ++n) world.append(world.submit(n));
  world.journal.faults.overloaded = 5;
  world.runtime.run_for(20ms);
  world.journal.faults.unknown_lost = 3;
  world.runtime.run_for(100ms);
  world.journal.faults.unknown_applied = 3;
  world.runtime.run_for(100ms);
  world.journal.faults.overloaded_all = 3;
  world.runtime.run_for(20s);
  for (std::uint64_t n = 1; n <= 20; ++n) EXPECT_EQ(world.state(n), State::completed) << n;
  EXPECT_EQ(world.status().appends_under_way, 0U);
}

TEST(FunctionAgent, an_inbox_that_overflows_makes_the_dispatcher_start_afresh) {
  World world;
  dispatch::DispatcherOptions options;
  options.inbox_changes = 100;
  world.start_dispatcher(options);
  world.start_agent("a", 50);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 500; ++n) world.append(world.submit(n));
  world.runtime.run_for(40s);
  for (std::uint64_t n = 1; n <= 500; ++n) ASSERT_EQ(world.state(n), State::completed) << n;
  EXPECT_GT(world.status().counters.resyncs, 0U);
}

TEST(FunctionAgent, a_cancelled_task_is_stopped_and_its_slot_is_free_again) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 1);
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "4000"));
  world.runtime.run_for(50ms);
  ASSERT_EQ(world.state(1), State::executing);
  world.append(ledger::Cancel{id_of(1), world.wall(), "not wanted"});
  world.append(world.submit(2));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::cancelled);
  EXPECT_EQ(world.state(2), State::completed);
}

TEST(FunctionAgent, runs_longer_than_its_timeout_are_stopped_and_tried_again) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 1);
  world.runtime.run_for(10ms);
  auto slow = world.submit(1, "sleep", "500");
  slow.spec.timeout_ms = 200;
  slow.spec.attempts_max = 2;
  world.append(slow);
  world.runtime.run_for(3s);
  EXPECT_EQ(world.state(1), State::failed);
  const auto task = world.view(1).finished->task;
  ASSERT_TRUE(task.history);
  EXPECT_EQ(task.history->size(), 2U);
  EXPECT_EQ(task.history->front().error, ledger::ErrorClass::timeout);
  EXPECT_EQ(task.history->front().ended_at - task.history->front().started_at, 200U);
  EXPECT_TRUE(world.saw(DispatchEvent::Kind::attempt_timed_out));
}

TEST(FunctionAgent, another_dispatcher_ends_the_first) {
  World world;
  const Pid first = world.start_dispatcher();
  world.runtime.run_for(10ms);
  world.append(ledger::TakeDispatch{"elsewhere", world.wall()});
  const auto reason = world.runtime.wait_for_end(first, 1s);
  ASSERT_TRUE(reason);
  EXPECT_TRUE(reason->is_shutdown());
}

}  // namespace
}  // namespace skein::agent
