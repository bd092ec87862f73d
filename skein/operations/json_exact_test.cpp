#include "skein/operations/json_exact.hpp"

#include <gtest/gtest.h>

#include <string>

#include "skein/operations/json_forms.hpp"

namespace skein::operations {
namespace {

constexpr std::size_t k_depth = 32;

std::string again(std::string_view text) {
  const auto value = exact_json(text, k_depth);
  return value ? json_text(*value) : "not read";
}

TEST(JsonExact, writes_every_number_as_it_was_written) {
  for (const char* text :
       {"12345678901234567890123", "-12345678901234567890123", "0.1000000000000000055", "0.1", "1e400", "-1e-400",
        "-0.0", "-0", "0", "1E5", "1e+05", "1.50", "100000000000000000000.0", "18446744073709551615",
        "-9223372036854775808", "18446744073709551616", "3.141592653589793238462643383279502884197"}) {
    EXPECT_EQ(again(text), text);
    EXPECT_EQ(again(std::string("{\"a\":[") + text + ",{\"b\":" + text + "}]}"),
              std::string("{\"a\":[") + text + ",{\"b\":" + text + "}]}");
    EXPECT_EQ(json_text(json_or_text(text)), text);
  }
}

TEST(JsonExact, keeps_usual_numbers_as_numbers) {
  EXPECT_TRUE(exact_json("17", k_depth)->is_int64());
  EXPECT_TRUE(exact_json("18446744073709551615", k_depth)->is_uint64());
  EXPECT_TRUE(exact_json("1.5", k_depth)->is_double());
  EXPECT_FALSE(written_number(*exact_json("1.5", k_depth)));
  EXPECT_EQ(written_number(*exact_json("1e400", k_depth)), "1e400");
}

TEST(JsonExact, reads_all_other_values_as_the_usual_parser_does) {
  const std::string text = R"({"a":"x\n\u00e4\"","b":[true,false,null,[],{}],"c":{"d":"e"}})";
  EXPECT_EQ(again(text), json_text(json_or_text(text)));
  EXPECT_EQ(exact_json(text, k_depth)->at("a").as_string(), "x\n\xC3\xA4\"");
}

TEST(JsonExact, refuses_what_is_no_json) {
  for (const char* text : {"", "{", "[1,]", "1 2", "01", "+1", "1.", ".5", "NaN", "\"\xFF 1\"", "[[[1]]] x"}) {
    EXPECT_FALSE(exact_json(text, k_depth)) << text;
  }
  EXPECT_FALSE(exact_json("[[[1]]]", 2));
  EXPECT_TRUE(exact_json("[[[1]]]", 3));
}

// Nobody can have something written without quotes that is no number.
TEST(JsonExact, does_not_take_bad_text_for_a_number) {
  EXPECT_EQ(json_text(json_or_text("\xFF,\"admin\":true")), "\"\xEF\xBF\xBD,\\\"admin\\\":true\"");
  EXPECT_FALSE(written_number(json::string("\xFF")));
  EXPECT_FALSE(written_number(json::string("\xFF 1")));
}

}  // namespace
}  // namespace skein::operations
