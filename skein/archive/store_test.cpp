// What holds for every store: the same tests on the one in memory and on SQLite.
#include "skein/archive/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "skein/archive/memory_store.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"

namespace skein::inline v0::archive {
namespace {

using ledger::State;
using testing::ElementsAre;
using testing::IsEmpty;

struct Made {
  std::uint64_t n = 1;
  State state = State::completed;
  std::string swarm = "default";
  std::string type = "echo";
  std::string params = "{}";
  std::string message{};
  ledger::WallMs finished_at = 0;  // zero: by its number
};

Finished make(const Made& made) {
  auto each = std::make_shared<ledger::FinishedTask>();
  auto& task = each->task;
  task.id = TestWorld::id(made.n);
  task.number = 1000 - made.n;  // submitted in the other order
  task.shape = std::make_shared<const ledger::Shape>(ledger::Shape{made.swarm, made.type, {}});
  task.params = ledger::body_of(made.params);
  task.state = made.state;
  each->finish_number = made.n;
  each->finished_at = made.finished_at != 0 ? made.finished_at : 10'000 + made.n;
  each->message = made.message;
  return each;
}

std::vector<Finished> make_some(std::uint64_t from, std::uint64_t to) {
  std::vector<Finished> all;
  for (auto n = from; n <= to; ++n) all.push_back(make({.n = n}));
  return all;
}

class Stores : public testing::TestWithParam<bool> {
 protected:
  Stores() {
    if (!GetParam()) {
      store_ = std::make_unique<MemoryStore>();
      return;
    }
    auto opened = SqliteStore::open(folder_.file(k_archive_file));
    if (opened) store_ = std::move(*opened);
    if (!opened) ADD_FAILURE() << opened.error().describe();
  }

  void insert(const std::vector<Finished>& tasks) {
    const auto ok = store_->insert(tasks);
    ASSERT_TRUE(ok) << ok.error().describe();
  }
  std::vector<std::uint64_t> numbers(const Query& query) {
    std::vector<std::uint64_t> out;
    const auto page = store_->query(query);
    if (!page) ADD_FAILURE() << page.error().describe();
    if (page) {
      for (const auto& each : *page) out.push_back(each->finish_number);
    }
    return out;
  }

  TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(Stores, gives_back_all_of_a_task) {
  ledger::FinishedTask whole = *make({.n = 7, .state = State::failed, .params = "{\"a\":1}", .message = "broken"});
  auto& task = whole.task;
  task.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"blue", "resize", {"gpu", "x\"y"}});
  ledger::Extras extras;
  extras.dependencies = {TestWorld::id(3), TestWorld::id(4)};
  extras.key = "order-17";
  extras.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  extras.retry_of = TestWorld::id(5);
  extras.fallbacks = {{"first", 4, 150}, {"second", 4, 250}};
  extras.placement = std::make_shared<const ledger::Placement>(
      ledger::Placement{"ada", ledger::AgentFallback::any, 60'000, "customer \"7\"", 170});
  task.extras = std::make_shared<const ledger::Extras>(extras);
  const std::vector<ledger::Attempt> history{{"agent-1", 11, 100, 200, ledger::ErrorClass::timeout, "too \xff slow"},
                                             {"agent-2", 12, 300, 400, ledger::ErrorClass::crash, "gone"}};
  task.history = std::make_shared<const std::vector<ledger::Attempt>>(history);
  task.mark = ledger::body_of("half");
  task.agent = ledger::body_of("agent-2");
  task.fence = 12;
  task.timeout_ms = 5;
  task.submitted_at = 1;
  task.not_before = 2;
  task.deadline_at = 3;
  task.assigned_at = 4;
  task.started_at = 6;
  task.attempts = 2;
  task.attempts_max = 2;
  task.deliveries = 3;
  task.priority = ledger::k_high;
  whole.ending = ledger::Ending::attempts_spent;
  whole.result = ledger::body_of("[1]");
  whole.retried_as = TestWorld::id(9);
  insert({std::make_shared<const ledger::FinishedTask>(whole)});

  const auto found = store_->find(task.id);
  ASSERT_TRUE(found) << found.error().describe();
  ASSERT_TRUE(*found);
  const auto& got = **found;
  EXPECT_EQ(got.task.id, task.id);
  EXPECT_EQ(got.task.number, task.number);
  EXPECT_EQ(*got.task.shape, *task.shape);
  EXPECT_EQ(got.task.more(), extras);
  ASSERT_TRUE(got.task.history);
  EXPECT_EQ(*got.task.history, history);
  EXPECT_EQ(ledger::view_of(got.task.params), "{\"a\":1}");
  EXPECT_EQ(ledger::view_of(got.task.mark), "half");
  EXPECT_EQ(ledger::view_of(got.task.agent), "agent-2");
  EXPECT_EQ(ledger::view_of(got.result), "[1]");
  EXPECT_EQ(got.message, whole.message);
  EXPECT_EQ(got.task.state, State::failed);
  EXPECT_EQ(got.ending, whole.ending);
  EXPECT_EQ(got.retried_as, whole.retried_as);
  EXPECT_EQ(got.finish_number, 7U);
  EXPECT_EQ(got.finished_at, whole.finished_at);
  EXPECT_EQ(got.task.priority, ledger::k_high);
  const auto times = [](const ledger::Task& t) {
    return std::vector<std::uint64_t>{t.timeout_ms, t.submitted_at, t.not_before, t.deadline_at,  t.assigned_at,
                                      t.started_at, t.fence,        t.attempts,   t.attempts_max, t.deliveries};
  };
  EXPECT_EQ(times(got.task), times(task));
}

TEST_P(Stores, knows_nothing_of_a_task_it_never_got) {
  const auto found = store_->find(TestWorld::id(1));
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_EQ(store_->last().value(), 0U);
}

TEST_P(Stores, keeps_one_record_of_a_task_inserted_twice) {
  insert(make_some(1, 3));
  auto linked = std::make_shared<ledger::FinishedTask>(*make({.n = 2, .params = "{\"word\":\"later\"}"}));
  linked->retried_as = TestWorld::id(8);
  insert({linked, make({.n = 3})});
  EXPECT_EQ(store_->count().value(), 3U);
  EXPECT_EQ((*store_->find(TestWorld::id(2)))->retried_as, TestWorld::id(8));
  EXPECT_THAT(numbers({.text = "later"}), ElementsAre(2));
}

TEST_P(Stores, finds_by_state_swarm_type_and_time) {
  insert({make({.n = 1}), make({.n = 2, .state = State::failed}), make({.n = 3, .swarm = "blue"}),
          make({.n = 4, .type = "resize"}), make({.n = 5, .state = State::failed, .swarm = "blue", .type = "resize"})});
  EXPECT_THAT(numbers({}), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(numbers({.state = State::failed}), ElementsAre(5, 2));
  EXPECT_THAT(numbers({.swarm = "blue"}), ElementsAre(5, 3));
  EXPECT_THAT(numbers({.type = "resize"}), ElementsAre(5, 4));
  EXPECT_THAT(numbers({.state = State::completed, .type = "resize"}), ElementsAre(4));
  EXPECT_THAT(numbers({.finished_from = 10'002, .finished_before = 10'004}), ElementsAre(3, 2));
  EXPECT_THAT(numbers({.state = State::cancelled}), IsEmpty());
}

TEST_P(Stores, finds_words_by_their_beginning_in_params_results_and_messages) {
  auto with_result = std::make_shared<ledger::FinishedTask>(*make({.n = 3}));
  with_result->result = ledger::body_of("{\"city\":\"Z\xc3\xbcrich\"}");
  insert({make({.n = 1, .params = "{\"file\":\"Sunset-beach.png\"}"}), make({.n = 2, .message = "no such beach"}),
          with_result});
  EXPECT_THAT(numbers({.text = "beach"}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.text = "sun png"}), ElementsAre(1));
  EXPECT_THAT(numbers({.text = "z\xc3\xbcri"}), ElementsAre(3));
  EXPECT_THAT(numbers({.text = "unset"}), IsEmpty());
  EXPECT_THAT(numbers({.text = "\"beach\" OR (*"}), IsEmpty()) << "no word of a search is an operator";
}

TEST_P(Stores, pages_stay_put_while_more_tasks_finish) {
  insert(make_some(1, 10));
  EXPECT_THAT(numbers({.limit = 4}), ElementsAre(10, 9, 8, 7));
  insert(make_some(11, 20));
  EXPECT_THAT(numbers({.below = 7, .limit = 4}), ElementsAre(6, 5, 4, 3));
  EXPECT_THAT(numbers({.below = 3, .limit = 4}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.above = 17}), ElementsAre(20, 19, 18));
}

TEST_P(Stores, pages_in_the_order_of_submission_too) {
  insert(make_some(1, 6));
  const auto order = Query::SortOrder::last_submitted_first;
  EXPECT_THAT(numbers({.above = 2, .order = order, .limit = 3}), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers({.submitted_below = 997, .order = order}), ElementsAre(4, 5, 6));
}

TEST_P(Stores, links_a_retry_to_the_task_it_stands_in_for) {
  insert(make_some(1, 1));
  EXPECT_TRUE(store_->link_retry(TestWorld::id(1), TestWorld::id(2)).value());
  EXPECT_FALSE(store_->link_retry(TestWorld::id(5), TestWorld::id(2)).value());
  EXPECT_EQ((*store_->find(TestWorld::id(1)))->retried_as, TestWorld::id(2));
}

TEST_P(Stores, removes_what_is_too_old_or_too_much_bit_by_bit) {
  insert(make_some(1, 9));
  const Retention by_age{std::chrono::hours(1), 0};
  const ledger::WallMs now = 10'004 + 3'600'000;  // tasks 1 to 3 are older than an hour
  EXPECT_EQ(store_->retain(by_age, now, 2).value(), 0U) << "and nothing has finished since: a clock alone says so";
  insert({make({.n = 10, .finished_at = now + 5})});
  EXPECT_EQ(store_->retain(by_age, 0, 2).value(), 0U) << "there is no clock to be believed";
  EXPECT_EQ(store_->retain(by_age, now, 2).value(), 2U);
  EXPECT_EQ(store_->retain(by_age, now, 2).value(), 1U);
  EXPECT_EQ(store_->retain(by_age, now, 2).value(), 0U);
  EXPECT_THAT(numbers({}), ElementsAre(10, 9, 8, 7, 6, 5, 4));
  EXPECT_EQ(store_->retain({std::chrono::hours(0), 5}, now, 100).value(), 2U);
  EXPECT_THAT(numbers({}), ElementsAre(10, 9, 8, 7, 6));
  EXPECT_EQ(store_->retain({std::chrono::hours(0), 1}, now, 100).value(), 4U);
  EXPECT_EQ(store_->last().value(), 10U);
  EXPECT_EQ(store_->marks()->removed, 9U);
  EXPECT_TRUE(store_->marks()->adds_up());
}

TEST_P(Stores, never_gives_a_number_to_another_task) {
  insert(make_some(1, 3));
  auto other = std::make_shared<ledger::FinishedTask>(*make({.n = 2}));
  other->task.id = TestWorld::id(77);
  const auto refused = store_->insert(std::vector<Finished>{make({.n = 4}), other});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ArchiveError::Kind::conflict);
  EXPECT_NE(refused.error().describe().find("finish number 2 is that of task"), std::string::npos);
  EXPECT_TRUE(*store_->find(TestWorld::id(2)));
  EXPECT_FALSE(*store_->find(TestWorld::id(77)));
  EXPECT_FALSE(*store_->find(TestWorld::id(4))) << "nothing of the batch";
  EXPECT_EQ(store_->last().value(), 3U);
}

TEST_P(Stores, a_task_that_was_run_again_is_there_once_under_its_new_number) {
  insert(make_some(1, 3));
  auto again = std::make_shared<ledger::FinishedTask>(*make({.n = 2}));
  again->finish_number = 4;
  insert({again});
  EXPECT_EQ((*store_->find(TestWorld::id(2)))->finish_number, 4U);
  EXPECT_EQ(store_->count().value(), 3U);
  EXPECT_TRUE(store_->marks()->adds_up());
}

TEST_P(Stores, records_a_loss_and_goes_on_above_it) {
  insert(make_some(1, 3));
  ASSERT_TRUE(store_->record_loss({5, 4, 9, 6, "gone"}));
  EXPECT_EQ(store_->last().value(), 9U);
  EXPECT_EQ(store_->marks()->lost, 6U);
  EXPECT_TRUE(store_->marks()->adds_up());
  ASSERT_EQ(store_->losses()->size(), 1U);
  EXPECT_EQ(store_->losses()->front().why, "gone");
  insert({make({.n = 10})});
  EXPECT_TRUE(store_->marks()->adds_up());
  insert({make({.n = 5})});
  EXPECT_TRUE(store_->marks()->adds_up()) << "one that is found after all";
}

TEST_P(Stores, keeps_notes_and_verifies_in_pieces) {
  EXPECT_EQ(store_->note("folder").value(), "");
  ASSERT_TRUE(store_->keep_note("folder", "a"));
  ASSERT_TRUE(store_->keep_note("folder", "b"));
  EXPECT_EQ(store_->note("folder").value(), "b");
  insert(make_some(1, 5));
  EXPECT_EQ(store_->seal().value(), 5U);
  const auto first = store_->verify(0, 3).value();
  EXPECT_EQ(first.rows, 3U);
  EXPECT_EQ(first.up_to, 3U);
  EXPECT_FALSE(first.is_end);
  const auto second = store_->verify(first.up_to, 3).value();
  EXPECT_EQ(second.rows, 2U);
  EXPECT_TRUE(second.is_end);
  EXPECT_TRUE(first.damaged.empty() && second.damaged.empty());
}

TEST_P(Stores, forgets_the_words_of_what_is_removed) {
  insert({make({.n = 1, .params = "{\"a\":\"zebra\"}"}), make({.n = 2})});
  ASSERT_EQ(store_->retain({std::chrono::hours(0), 1}, 0, 100).value(), 1U);
  insert({make({.n = 1, .params = "{\"a\":\"lion\"}"})});
  EXPECT_THAT(numbers({.text = "zebra"}), IsEmpty());
  EXPECT_THAT(numbers({.text = "lion"}), ElementsAre(1));
}

TEST_P(Stores, gives_at_most_a_page) {
  insert(make_some(1, k_page_max + 5));
  EXPECT_EQ(numbers({.limit = 1'000'000}).size(), k_page_max);
}

INSTANTIATE_TEST_SUITE_P(Archive, Stores, testing::Values(false, true),
                         [](const auto& each) { return each.param ? "sqlite" : "memory"; });

}  // namespace
}  // namespace skein::inline v0::archive
