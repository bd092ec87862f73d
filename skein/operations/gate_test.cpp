#include "skein/operations/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "skein/archive/test_world.hpp"
#include "skein/base/manual_job_queue.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::operations {
namespace {

using journal::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

// A journal whose answers the test gives, over a real ledger.
class ScriptedJournal final : public journal::Journal {
 public:
  struct Appended {
    journal::Batch batch;
    journal::AnswerFn done;
  };

  void append(journal::Batch batch, journal::AnswerFn done, journal::Urgency) override {
    appended.push_back({std::move(batch), std::move(done)});
  }
  void read(journal::Read, journal::ReadFn fn) override {
    journal::ReadAnswer answer;
    answer.outcome = Outcome::applied;
    answer.position = position;
    fn(std::move(answer));
  }
  void snapshot(journal::SnapshotFn) override {}
  void trim(journal::Position) override {}
  void set_trim_limit(journal::Position) override {}
  std::uint64_t subscribe(journal::EventFn) override { return 1; }
  void unsubscribe(std::uint64_t) override {}
  std::optional<std::string> leader() const override { return "self"; }
  bool has_quorum() const override { return true; }
  bool wait_leader(std::chrono::milliseconds) override { return true; }
  journal::JournalStatus status() const override { return {}; }
  void close() override {}

  // Applies the oldest append that waits and answers it.
  void apply(bool result_kept = true) {
    auto next = take();
    journal::AppendAnswer answer;
    answer.outcome = Outcome::applied;
    auto& id = applied[next.batch[0].id];
    const bool repeated = !id.empty();
    if (!repeated) id = ledger.apply(++position, next.batch[0].bytes);
    answer.results.push_back({position, result_kept ? id : std::string(), repeated, result_kept, false});
    next.done(std::move(answer));
  }
  void refuse(Outcome outcome, const std::string& why = "scripted") {
    auto next = take();
    journal::AppendAnswer answer;
    answer.outcome = outcome;
    answer.why = why;
    answer.leader = outcome == Outcome::not_leader ? "node-2" : "";
    next.done(std::move(answer));
  }
  // Applied, and nobody heard of it.
  void apply_and_lose_the_answer() {
    const auto& command = appended.front().batch[0];
    applied[command.id] = ledger.apply(++position, command.bytes);
    refuse(Outcome::unknown);
  }

  std::deque<Appended> appended;
  ledger::Ledger ledger;
  std::map<journal::CommandId, std::string> applied;
  journal::Position position = 0;

 private:
  Appended take() {
    Appended next = std::move(appended.front());
    appended.pop_front();
    return next;
  }
};

class Gates : public testing::Test {
 protected:
  void start(const GateLimits& limits = {}) {
    gate_ = std::make_shared<Gate>(journal_, jobs_, journal::Urgency::ordinary, 77, limits);
  }
  void submit(std::uint64_t n, std::size_t params_bytes = 0) {
    ledger::TaskSpec spec;
    spec.type = "echo";
    spec.params = ledger::body_of(std::string(params_bytes, 'x'));
    const ledger::Submit op{archive::TestWorld::id(n), 1, spec};
    gate_->append(op, [this, n](const Result<ledger::OpResult>& result, std::string_view sent) {
      answers_.push_back(std::to_string(n) + " " +
                         std::string(result ? ledger::name_of(result->verdict) : name_of(result.error().code)));
      if (!result) last_error_ = result.error();
      const auto returned = operation_in(sent);
      const auto* submit = returned ? std::get_if<ledger::Submit>(&*returned) : nullptr;
      returned_ops_.push_back(submit != nullptr ? submit->id : ledger::TaskId{});
    });
  }

  ScriptedJournal journal_;
  ManualJobQueue jobs_;
  std::shared_ptr<Gate> gate_;
  std::vector<std::string> answers_;
  std::vector<ledger::TaskId> returned_ops_;  // of the submits that came with the answers
  Error last_error_;
};

TEST_F(Gates, appends_at_once_when_nothing_is_under_way) {
  start();
  submit(1);
  ASSERT_EQ(journal_.appended.size(), 1U);
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok"));
}

TEST_F(Gates, sends_in_halves_what_is_too_large_together) {
  start();
  for (std::uint64_t n = 1; n <= 4; ++n) submit(n);
  journal_.apply();
  ASSERT_EQ(journal_.appended.size(), 1U);
  journal_.refuse(Outcome::refused, "too large");
  ASSERT_EQ(journal_.appended.size(), 2U) << "2, and 3 with 4";
  journal_.refuse(Outcome::refused, "too large");
  journal_.refuse(Outcome::refused, "too large");
  ASSERT_EQ(journal_.appended.size(), 2U) << "3, and 4; 2 alone is too large";
  submit(5);
  EXPECT_EQ(journal_.appended.size(), 2U) << "it waits: both halves are under way";
  journal_.apply();
  EXPECT_EQ(journal_.appended.size(), 1U);
  journal_.apply();
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok", "2 too_large", "3 ok", "4 ok", "5 ok"));
}

TEST_F(Gates, hand_each_operation_back_with_the_answer_of_the_ledger) {
  start();
  for (std::uint64_t n = 1; n <= 4; ++n) submit(n, n * 100);
  journal_.apply();
  journal_.refuse(Outcome::refused, "too large");  // 2, 3 and 4 go in halves: 2, and 3 with 4
  journal_.refuse(Outcome::refused, "too large");
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok", "2 too_large", "3 ok", "4 ok"));
  const auto id = [](std::uint64_t n) { return archive::TestWorld::id(n); };
  EXPECT_THAT(returned_ops_, ElementsAre(id(1), ledger::TaskId{}, id(3), id(4))) << "the ledger has not answered 2";
}

TEST_F(Gates, gathers_what_comes_meanwhile_into_one_command) {
  start();
  for (std::uint64_t n = 1; n <= 5; ++n) submit(n);
  ASSERT_EQ(journal_.appended.size(), 1U);
  journal_.apply();
  ASSERT_EQ(journal_.appended.size(), 1U);
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok", "2 ok", "3 ok", "4 ok", "5 ok"));
  EXPECT_EQ(gate_->status().commands, 2U);
  EXPECT_EQ(gate_->status().ops, 5U);
}

TEST_F(Gates, sends_another_command_early_when_many_gather) {
  GateLimits limits;
  limits.gather_ops = 3;
  limits.commands_in_flight = 2;
  start(limits);
  for (std::uint64_t n = 1; n <= 10; ++n) submit(n);
  EXPECT_EQ(journal_.appended.size(), 2U) << "the first, and three more; not a third command";
  while (!journal_.appended.empty()) journal_.apply();
  EXPECT_EQ(answers_.size(), 10U);
}

TEST_F(Gates, keeps_commands_within_their_count_and_bytes) {
  GateLimits limits;
  limits.command_ops = 4;
  limits.command_bytes = 1000;
  limits.gather_ops = 1000;
  start(limits);
  submit(1);
  for (std::uint64_t n = 2; n <= 10; ++n) submit(n);
  for (std::uint64_t n = 11; n <= 12; ++n) submit(n, 600);
  std::vector<std::size_t> counts;
  while (!journal_.appended.empty()) {
    counts.push_back(ledger::decode_command(journal_.appended.front().batch[0].bytes)->size());
    journal_.apply();
  }
  EXPECT_THAT(counts, ElementsAre(1, 4, 4, 2, 1));
  EXPECT_EQ(answers_.size(), 12U);
}

TEST_F(Gates, joins_hundreds_of_operations_into_a_command_the_ledger_reads) {
  start();
  for (std::uint64_t n = 0; n < 400; ++n) submit(n, n);
  while (!journal_.appended.empty()) journal_.apply();
  EXPECT_EQ(journal_.ledger.counters().open_tasks, 400U);
}

TEST_F(Gates, refuses_when_too_many_or_too_much_waits) {
  GateLimits limits;
  limits.queued_ops = 2;
  limits.queued_bytes = 2000;
  start(limits);
  submit(1);
  submit(2, 1500);
  submit(3, 1500);
  EXPECT_THAT(answers_, ElementsAre("3 overloaded"));
  EXPECT_GT(last_error_.retry_after, 0ms);
  submit(4);
  submit(5);
  EXPECT_THAT(answers_, ElementsAre("3 overloaded", "5 overloaded"));
  journal_.apply();
  submit(6);
  while (!journal_.appended.empty()) journal_.apply();
  EXPECT_EQ(gate_->status().refused, 2U);
  EXPECT_EQ(answers_.size(), 6U);
  EXPECT_EQ(gate_->status().queued_ops, 0U);
  EXPECT_EQ(gate_->status().queued_bytes, 0U) << "what has gone takes up no room";
}

TEST_F(Gates, passes_on_what_the_journal_says) {
  start();
  for (const auto outcome : {Outcome::overloaded, Outcome::not_leader, Outcome::refused, Outcome::stopped}) {
    submit(1);
    journal_.refuse(outcome);
  }
  EXPECT_THAT(answers_, ElementsAre("1 overloaded", "1 not_leader", "1 too_large", "1 stopped"));
  submit(1);
  journal_.refuse(Outcome::not_leader);
  EXPECT_THAT(last_error_.describe(), HasSubstr("the leader is node-2: ask that node"));
}

// What the journal says to the second append tells nothing of the first, which may be in the log.
TEST_F(Gates, stays_in_doubt_when_the_repeated_command_is_turned_away) {
  start();
  submit(1);
  journal_.apply_and_lose_the_answer();
  jobs_.advance(1s);
  journal_.refuse(Outcome::overloaded);
  EXPECT_TRUE(answers_.empty()) << "answered although it may be applied";
  jobs_.advance(1s);
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok"));
  submit(2);
  journal_.apply_and_lose_the_answer();
  jobs_.advance(1s);
  journal_.refuse(Outcome::stopped);
  EXPECT_THAT(answers_, ElementsAre("1 ok", "2 unknown"));
}

TEST_F(Gates, appends_the_same_command_again_until_the_journal_knows) {
  start();
  submit(1);
  const auto id = journal_.appended.front().batch[0].id;
  journal_.apply_and_lose_the_answer();
  EXPECT_THAT(answers_, ElementsAre());
  jobs_.advance(10ms);
  ASSERT_EQ(journal_.appended.size(), 1U);
  EXPECT_EQ(journal_.appended.front().batch[0].id, id);
  journal_.apply();
  EXPECT_THAT(answers_, ElementsAre("1 ok"));
  EXPECT_EQ(journal_.ledger.counters().open_tasks, 1U);
}

// The task may have ended and gone to the archive meanwhile: sent again, it would be done a second time.
TEST_F(Gates, says_unknown_when_the_answer_was_too_long_to_be_remembered) {
  start();
  submit(1);
  journal_.apply_and_lose_the_answer();
  jobs_.advance(10ms);
  journal_.apply(false);
  EXPECT_TRUE(journal_.appended.empty());
  EXPECT_THAT(answers_, ElementsAre("1 unknown"));
  EXPECT_EQ(journal_.ledger.counters().open_tasks, 1U);
}

TEST_F(Gates, says_unknown_when_the_journal_never_knows) {
  start();
  submit(1);
  for (int i = 0; i < 100 && !journal_.appended.empty(); ++i) {
    journal_.refuse(Outcome::unknown);
    jobs_.advance(1s);
  }
  EXPECT_THAT(answers_, ElementsAre("1 unknown"));
  EXPECT_THAT(last_error_.advice, HasSubstr("idempotency key"));
  submit(2);
  journal_.apply();
  EXPECT_EQ(answers_.back(), "2 ok") << "it goes on";
}

TEST_F(Gates, answers_what_is_queued_when_stopped) {
  start();
  submit(1);
  submit(2);
  gate_->stop();
  submit(3);
  EXPECT_THAT(answers_, ElementsAre("2 stopped", "3 stopped"));
  journal_.apply();
  EXPECT_EQ(answers_.back(), "1 ok");
}

TEST(GateThreads, answers_every_one_of_many_callers_once) {
  archive::TestWorld world;
  ledger::Limits limits;
  limits.swarm_tasks = 1'000'000;
  ASSERT_FALSE(world.apply_one(ledger::SetLimits{limits}).refused());
  ManualJobQueue jobs;
  const auto gate = std::make_shared<Gate>(world.journal(), jobs, journal::Urgency::ordinary, 77, GateLimits{});
  constexpr std::uint64_t k_threads = 4;
  constexpr std::uint64_t k_each = 5000;
  std::atomic<std::uint64_t> accepted{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      ledger::TaskSpec spec;
      spec.type = "echo";
      for (std::uint64_t i = 0; i < k_each; ++i) {
        gate->append(ledger::Submit{archive::TestWorld::id(t * k_each + i), 1, spec},
                     [&](const Result<ledger::OpResult>& result, std::string_view) {
                       accepted += result && !result->refused() ? 1 : 0;
                     });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  world.wait_for_journal();
  while (gate->status().queued_ops > 0) world.wait_for_journal();
  world.wait_for_journal();
  EXPECT_EQ(accepted, k_threads * k_each);
  EXPECT_EQ(world.look([](ledger::Ledger& ledger) { return ledger.counters().open_tasks; }), k_threads * k_each);
}

}  // namespace
}  // namespace skein::inline v0::operations
