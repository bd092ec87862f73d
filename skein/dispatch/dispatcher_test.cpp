// The dispatcher process on real threads; what it decides is tested on virtual time, see agent/agent_stack_test.cpp.
#include "skein/dispatch/dispatcher.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "skein/runtime/testing.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;

// An agent that completes everything at once.
class QuickAgent {
 public:
  QuickAgent(Self self, std::string id, Pid dispatcher) : dispatcher_(dispatcher) {
    AgentReady ready;
    ready.name = std::move(id);
    ready.capabilities = {"work"};
    ready.capacity = 64;
    self.send(dispatcher_, std::move(ready));
  }
  void handle_info(Self self, Message message) {
    auto* orders = message.get_if<Orders>();
    if (orders == nullptr) return;
    AgentReport report;
    for (auto& order : orders->run) report.complete.push_back({order.ref, order.params});
    if (!report.complete.empty()) self.send(dispatcher_, std::move(report));
  }

 private:
  Pid dispatcher_;
};

class Threads : public testing::Test {
 protected:
  Threads() : journal(journal::open_memory_journal(ledger)), runtime(tests::threaded()) {}
  ~Threads() override { runtime.shutdown(); }

  Pid start_dispatcher() {
    auto setup = std::make_unique<DispatcherSetup>();
    setup->runtime = &runtime;
    setup->journal = journal.get();
    setup->ledger = &ledger;
    setup->wall_clock = [] { return ledger::WallMs{1'000'000}; };
    setup->entropy = [this] { return ++entropy * 0x9E3779B97F4A7C15ULL; };
    return runtime.spawn<Dispatcher>(std::move(setup));
  }
  void submit(std::uint64_t first, std::uint64_t last) {
    ledger::CommandBuilder builder;
    for (std::uint64_t n = first; n <= last; ++n) {
      ledger::Submit op;
      op.id = {0x0190'0000'0000'7000ULL, n};
      op.at = 1'000'000;
      op.spec.type = "work";
      builder.add(op);
    }
    journal::Batch batch;
    batch.push_back({{1, first}, builder.take()});
    const auto answer = journal::append_and_wait(*journal, std::move(batch), 20s);
    ASSERT_EQ(answer.outcome, journal::Outcome::applied);
  }
  std::uint64_t open_tasks() {
    std::atomic<std::uint64_t> open = UINT64_MAX;
    std::atomic<bool> is_done = false;
    journal->read(journal::Read::linear(), [&](const journal::ReadAnswer&) {
      open = ledger.counters().open_tasks;
      is_done = true;
    });
    EXPECT_TRUE(tests::eventually([&] { return is_done.load(); }));
    return open;
  }

  std::atomic<std::uint64_t> entropy = 0;
  ledger::Ledger ledger;
  std::unique_ptr<journal::Journal> journal;
  Runtime runtime;
};

using Dispatching = Threads;

TEST_F(Dispatching, completes_everything_with_the_journals_thread_and_workers_beside_each_other) {
  const Pid dispatcher = start_dispatcher();
  for (int i = 0; i < 4; ++i) runtime.spawn<QuickAgent>("agent" + std::to_string(i), dispatcher);
  for (std::uint64_t n = 0; n < 10; ++n) submit(n * 500 + 1, n * 500 + 500);
  EXPECT_TRUE(tests::eventually([&] { return open_tasks() == 0; }));
  const auto status = runtime.call<Dispatcher>(dispatcher, GetDispatcherStatus{});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->counters.refused_ops, 0U);
}

TEST_F(Dispatching, dispatchers_that_are_killed_leave_the_ledger_without_their_sinks) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Pid dispatcher = start_dispatcher();
    runtime.spawn<QuickAgent>("agent", dispatcher);
    submit(round * 50 + 1, round * 50 + 50);
    runtime.exit(dispatcher, ExitReason::kill());
    ASSERT_TRUE(runtime.wait_for_end(dispatcher, 20s));
  }
  const Pid dispatcher = start_dispatcher();
  for (int i = 0; i < 2; ++i) runtime.spawn<QuickAgent>("agent" + std::to_string(i), dispatcher);
  // What the killed ones had assigned waits for its lease; "agent" comes back without it and it goes on at once.
  runtime.spawn<QuickAgent>("agent", dispatcher);
  EXPECT_TRUE(tests::eventually([&] { return open_tasks() == 0; }));
}

}  // namespace
}  // namespace skein::dispatch
