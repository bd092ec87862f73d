#include "sim/raft_history.hpp"

#include <gtest/gtest.h>

namespace skein::sim::raft {
namespace {

using namespace std::chrono_literals;

Instant at(int ms) { return Instant(std::chrono::milliseconds(ms)); }

// A group of one key, and what its clients saw.
struct History {
  std::vector<Operation> operations;
  std::vector<DecidedCommand> decided;

  std::uint64_t append(std::uint32_t client, std::uint64_t value, std::uint64_t before) {
    const auto position = static_cast<consensus::Position>(decided.size() + 1);
    decided.push_back({position, {.client = client, .serial = 1, .index = 0, .count = 1, .key = 0, .value = value}});
    return mixed(before, value);
  }
  Operation& answered(std::uint32_t client, std::vector<std::uint64_t> values, int asked_ms, int answered_ms,
                      consensus::Position position, std::uint64_t result) {
    Operation operation;
    operation.is_read = values.empty();
    operation.client = client;
    operation.serial = 1;
    operation.values = std::move(values);
    operation.asked = at(asked_ms);
    operation.answered = at(answered_ms);
    operation.first = operation.last = position;
    operation.result = result;
    operations.push_back(operation);
    return operations.back();
  }
};

// Two appends one after the other, a third at the same time as the second, and a read after all of them.
History good() {
  History history;
  const std::uint64_t one = history.append(1, 11, 0);
  const std::uint64_t two = history.append(2, 22, one);
  const std::uint64_t three = history.append(3, 33, two);
  history.answered(1, {11}, 0, 10, 1, one);
  history.answered(2, {22}, 20, 40, 2, two);
  history.answered(3, {33}, 25, 35, 3, three);
  history.answered(4, {}, 50, 60, 3, three);
  return history;
}

TEST(RaftHistory, what_could_have_been_done_one_at_a_time_passes_both_judges) {
  const History history = good();
  EXPECT_EQ(wrong_by_positions(history.operations, history.decided), std::nullopt);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::explained);
}

TEST(RaftHistory, a_stale_read_is_found_by_both) {
  History history = good();
  history.operations[3].first = history.operations[3].last = 2;
  history.operations[3].result = history.operations[1].result;
  EXPECT_NE(wrong_by_positions(history.operations, history.decided), std::nullopt);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::unexplained);
}

TEST(RaftHistory, a_read_may_stand_where_an_append_stands_but_an_append_may_not) {
  History history = good();
  history.operations[2].asked = at(45);
  history.operations[2].answered = at(48);
  EXPECT_EQ(wrong_by_positions(history.operations, history.decided), std::nullopt);
  history.operations[2].first = history.operations[2].last = 2;
  EXPECT_NE(wrong_by_positions(history.operations, history.decided), std::nullopt);
}

TEST(RaftHistory, an_order_against_time_is_found_by_both) {
  History history = good();
  // The third was answered before the second was asked, but stands after it.
  history.operations[1].asked = at(38);
  EXPECT_NE(wrong_by_positions(history.operations, history.decided), std::nullopt);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::unexplained);
}

TEST(RaftHistory, an_answer_for_what_is_not_decided_is_found_by_both) {
  History history = good();
  history.answered(9, {99}, 70, 80, 4, mixed(history.operations[3].result, 99));
  EXPECT_NE(wrong_by_positions(history.operations, history.decided), std::nullopt);
  history.answered(4, {}, 90, 95, 4, history.operations[3].result);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::unexplained) << "and it can't be read";
}

TEST(RaftHistory, a_wrong_result_is_found_by_both) {
  History history = good();
  history.operations[0].result ^= 1U;
  EXPECT_NE(wrong_by_positions(history.operations, history.decided), std::nullopt);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::unexplained);
}

TEST(RaftHistory, what_was_never_answered_may_have_been_done_or_not) {
  for (const bool was_done : {true, false}) {
    History history;
    const std::uint64_t one = history.append(1, 11, 0);
    const std::uint64_t lost = was_done ? history.append(5, 55, one) : one;
    history.answered(1, {11}, 0, 10, 1, one);
    history.answered(5, {55}, 12, 0, 0, 0).answered.reset();
    history.answered(4, {}, 50, 60, was_done ? 2 : 1, lost);
    EXPECT_EQ(wrong_by_positions(history.operations, history.decided), std::nullopt) << was_done;
    EXPECT_EQ(explained_by_search(history.operations), SearchResult::explained) << was_done;
  }
}

TEST(RaftHistory, a_batch_appended_twice_counts_once) {
  History history;
  const std::uint64_t one = history.append(1, 11, 0);
  (void)history.append(1, 11, one);
  history.answered(1, {11}, 0, 10, 1, one);
  history.answered(4, {}, 20, 30, 2, one);
  EXPECT_EQ(wrong_by_positions(history.operations, history.decided), std::nullopt);
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::explained);
}

TEST(RaftHistory, a_search_of_too_much_is_refused) {
  History history;
  std::uint64_t value = 0;
  for (std::uint32_t client = 1; client <= k_searched_operations + 1; ++client) {
    value = mixed(value, client);
    history.answered(client, {client}, static_cast<int>(client) * 10, static_cast<int>(client) * 10 + 5, client, value);
  }
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::too_many);
  history.operations.pop_back();
  EXPECT_EQ(explained_by_search(history.operations), SearchResult::explained);
}

}  // namespace
}  // namespace skein::sim::raft
