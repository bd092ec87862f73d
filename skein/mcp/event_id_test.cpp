#include "skein/mcp/event_id.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::mcp {
namespace {

TEST(EventIdTest, comes_back_as_it_went_out) {
  for (const boost::json::value& asked :
       {boost::json::value(), boost::json::value(41), boost::json::value("a-b\n\"")}) {
    const auto id = parse_event_id(event_id_text(0x1f3a, 7, 3, event_id_ending(asked)));
    ASSERT_TRUE(id);
    EXPECT_EQ(id->stamp, 0x1f3aU);
    EXPECT_EQ(id->stream, 7U);
    EXPECT_EQ(id->number, 3U);
    EXPECT_EQ(id->asked, asked);
  }
}

TEST(EventIdTest, has_no_request_where_none_can_be_read) {
  for (const char* text : {"1f-7-3-", "1f-7-3-!", "1f-7-3-e30", "1f-7-3-MS41"}) {
    const auto id = parse_event_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_TRUE(id->asked.is_null()) << text;
  }
}

TEST(EventIdTest, is_none_of_another_form) {
  for (const char* text : {"", "x", "1f", "1f-", "1f-7", "1f-7-", "1f-7-3x", "-7-3", "1f--3"}) {
    EXPECT_FALSE(parse_event_id(text)) << text;
  }
}

}  // namespace
}  // namespace skein::inline v0::mcp
