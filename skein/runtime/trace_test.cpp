#include "skein/runtime/trace.hpp"

#include <gtest/gtest.h>

namespace skein::detail {
namespace {

const Pid k_pid(0, 1, 1);
const TracedMessage k_message{Instant{}, {}, "T", "info"};

TEST(Traces, record_up_to_the_number_asked_and_say_when_full) {
  Traces traces;
  ASSERT_TRUE(traces.begin(k_pid, 3));
  EXPECT_TRUE(traces.record(k_pid, k_message));
  EXPECT_TRUE(traces.record(k_pid, k_message));
  EXPECT_FALSE(traces.record(k_pid, k_message));
  EXPECT_FALSE(traces.record(k_pid, k_message));
  EXPECT_EQ(traces.end(k_pid).size(), 3U);
}

TEST(Traces, one_that_was_not_begun_or_has_ended_records_nothing) {
  Traces traces;
  EXPECT_FALSE(traces.record(k_pid, k_message));
  ASSERT_TRUE(traces.begin(k_pid, 3));
  traces.end(k_pid);
  EXPECT_FALSE(traces.record(k_pid, k_message));
  EXPECT_TRUE(traces.end(k_pid).empty());
}

TEST(Traces, beginning_anew_forgets_what_was_recorded) {
  Traces traces;
  ASSERT_TRUE(traces.begin(k_pid, 3));
  traces.record(k_pid, k_message);
  ASSERT_TRUE(traces.begin(k_pid, 3));
  EXPECT_TRUE(traces.end(k_pid).empty());
}

TEST(Traces, are_limited_in_number_and_in_length) {
  Traces traces;
  for (std::uint32_t i = 0; i < k_traces_limit; ++i) ASSERT_TRUE(traces.begin(Pid(0, i, 1), k_trace_limit + 5));
  EXPECT_FALSE(traces.begin(Pid(0, k_traces_limit, 1), 1));
  const Pid first(0, 0, 1);
  EXPECT_TRUE(traces.begin(first, k_trace_limit + 5)) << "one of those that are traced already";
  for (std::size_t i = 0; i < k_trace_limit + 5; ++i) traces.record(first, k_message);
  EXPECT_EQ(traces.end(first).size(), k_trace_limit);
  EXPECT_TRUE(traces.begin(Pid(0, k_traces_limit, 1), 1)) << "there is room again";
}

}  // namespace
}  // namespace skein::detail
