#include "skein/ledger/task.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace skein::ledger {
namespace {

TEST(TaskId, is_written_and_read_as_a_uuid) {
  const TaskId id{0x0190'1234'5678'7abcULL, 0x8def'0123'4567'89abULL};
  EXPECT_EQ(id.text(), "01901234-5678-7abc-8def-0123456789ab");
  EXPECT_EQ(TaskId::parse(id.text()), id);
  EXPECT_EQ(TaskId::parse("01901234-5678-7ABC-8DEF-0123456789AB"), id);
}

TEST(TaskId, takes_no_other_text) {
  for (const auto* text : {"", "0", "01901234-5678-7abc-8def-0123456789a", "01901234-5678-7abc-8def-0123456789abc",
                           "01901234x5678-7abc-8def-0123456789ab", "0190123g-5678-7abc-8def-0123456789ab",
                           "01901234-56787-abc-8def-0123456789ab", "00000000-0000-0000-0000-000000000000"}) {
    EXPECT_EQ(TaskId::parse(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(TaskId, round_trips, (std::uint64_t high, std::uint64_t low)) {
  const TaskId id{high, low};
  RC_PRE(!id.none());
  RC_ASSERT(TaskId::parse(id.text()) == id);
}

TEST(Shape, the_type_is_the_capability_when_none_is_given) {
  Shape shape{"s", "analyze", {}};
  EXPECT_EQ(shape.required(), std::vector<std::string>{"analyze"});
  shape.capabilities = {"x", "y"};
  EXPECT_EQ(shape.required(), (std::vector<std::string>{"x", "y"}));
}

}  // namespace
}  // namespace skein::ledger
