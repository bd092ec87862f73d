#include "skein/base/trace_context.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace skein {
namespace {

constexpr std::string_view k_good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, reads_and_writes_the_recommendation_s_example) {
  const auto context = TraceContext::parse(k_good);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->flags, TraceContext::k_sampled);
  EXPECT_EQ(context->trace_id[0], 0x4b);
  EXPECT_EQ(context->span_id[7], 0xb7);
  EXPECT_EQ(context->trace_id[15], 0x36);
  EXPECT_EQ(context->text(), k_good);
}

TEST(TraceContext, reads_later_versions_by_their_first_four_fields) {
  const std::string later = "cc" + std::string(k_good.substr(2));
  EXPECT_TRUE(TraceContext::parse(later));
  EXPECT_TRUE(TraceContext::parse(later + "-what-the-future-brings"));
  EXPECT_FALSE(TraceContext::parse(later + "x"));
  EXPECT_EQ(TraceContext::parse(later)->text(), k_good);
}

TEST(TraceContext, hands_on_no_flag_it_does_not_know) {
  const auto context = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->text(), k_good);
}

TEST(TraceContext, refuses_what_is_none) {
  for (const std::string_view bad : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
       }) {
    EXPECT_FALSE(TraceContext::parse(bad)) << bad;
  }
}

TEST(TraceContext, a_child_is_of_the_same_trace_with_a_span_of_its_own) {
  Random random(1);
  const TraceContext root = TraceContext::begin(random, false);
  const TraceContext child = root.child(random);
  EXPECT_EQ(child.trace_id, root.trace_id);
  EXPECT_NE(child.span_id, root.span_id);
  EXPECT_EQ(child.flags, 0);
  EXPECT_NE(TraceContext::begin(random).trace_id, root.trace_id);
}

TEST(TraceContext, reads_what_it_writes_and_survives_any_text) {
  const bool holds = rc::check([](std::uint64_t seed, const std::string& noise) {
    Random random(seed);
    const TraceContext context = TraceContext::begin(random);
    RC_ASSERT(TraceContext::parse(context.text()) == context);
    const auto read = TraceContext::parse(noise);
    RC_ASSERT(!read || noise.size() >= 55);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace skein
