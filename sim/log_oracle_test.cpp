#include "sim/log_oracle.hpp"

#include <gtest/gtest.h>

namespace skein::sim {
namespace {

constexpr Digest k_hash{};

// An oracle that saw two batches of one command each applied, at 1 and 2, and the first answered.
struct Story {
  Story() {
    for (Serial s = 0; s < 2; ++s) {
      const auto batch = oracle.new_batch(1, 50);
      bytes.push_back(batch.front().bytes);
      oracle.submitted(s);
      oracle.applied(s + 1, bytes.back());
    }
  }
  LogOracle oracle{false};
  std::vector<std::string> bytes;
};

TEST(LogOracle, finds_nothing_wrong_with_a_faithful_start) {
  Story story;
  story.oracle.started(2, k_hash, {{1, 0}, {2, 1}});
  EXPECT_FALSE(story.oracle.violation());
}

TEST(LogOracle, misses_what_was_lost) {
  Story story;
  story.oracle.started(1, k_hash, {{1, 0}});
  EXPECT_TRUE(story.oracle.violation());
}

TEST(LogOracle, notices_another_command_at_a_position) {
  Story story;
  story.oracle.started(2, k_hash, {{1, 1}, {2, 0}});
  EXPECT_TRUE(story.oracle.violation());
}

TEST(LogOracle, notices_a_command_applied_twice) {
  Story story;
  story.oracle.applied(3, story.bytes[0]);
  EXPECT_TRUE(story.oracle.violation());
}

TEST(LogOracle, notices_a_changed_command) {
  LogOracle oracle(false);
  auto bytes = oracle.new_batch(1, 50).front().bytes;
  oracle.submitted(0);
  bytes.back() ^= 1;
  oracle.applied(1, bytes);
  EXPECT_TRUE(oracle.violation());
}

TEST(LogOracle, notices_half_a_batch) {
  LogOracle oracle(false);
  (void)oracle.new_batch(2, 50);
  oracle.submitted(0);
  oracle.started(1, k_hash, {{1, 0}});
  EXPECT_TRUE(oracle.violation());
}

TEST(LogOracle, notices_a_command_that_had_been_turned_away) {
  LogOracle oracle(false);
  const auto bytes = oracle.new_batch(1, 50).front().bytes;
  oracle.submitted(0);
  journal::AppendAnswer answer;
  answer.outcome = journal::Outcome::overloaded;
  oracle.answered(0, answer);
  oracle.applied(1, bytes);
  EXPECT_TRUE(oracle.violation());
}

TEST(LogOracle, notices_another_hash_at_a_position) {
  Story story;
  story.oracle.reached(2, k_hash);
  Digest other{};
  other[0] = 1;
  story.oracle.reached(2, other);
  EXPECT_TRUE(story.oracle.violation());
}

}  // namespace
}  // namespace skein::sim
