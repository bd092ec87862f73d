#include "skein/mcp/task_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "skein/mcp/json_rpc.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;

json::value letters(std::size_t count) { return json::string(count, 'x'); }

json::object task_with(json::value result) {
  return {{"id", "t1"}, {"state", "completed"}, {"params", {{"a", 1}}}, {"result", std::move(result)}};
}

// All of a result, piece by piece, as a client gets it.
std::string read_whole(const json::object& task, std::uint64_t bytes) {
  std::string whole;
  json::object arguments{{"id", "t1"}, {"result_bytes", bytes}};
  for (int i = 0; i < 10'000; ++i) {
    json::object given = arguments;
    const json::object part = shown_task(task, take_result_page(given)).at("result_part").as_object();
    whole += text_in(part, "text");
    if (!part.contains("next_offset")) break;
    arguments["result_offset"] = part.at("next_offset");
  }
  return whole;
}

TEST(TaskViewTest, shows_whole_what_fits) {
  const json::object task = task_with({{"b", 2}});
  EXPECT_EQ(shown_task(task), task);
}

TEST(TaskViewTest, gives_the_beginning_of_what_does_not_fit_and_says_how_to_get_the_rest) {
  const json::object shown = shown_task(task_with(letters(k_result_bytes_max + 10)));
  EXPECT_FALSE(shown.contains("result"));
  EXPECT_TRUE(shown.contains("params"));
  const json::object& part = shown.at("result_part").as_object();
  EXPECT_EQ(part.at("text").as_string().size(), k_result_bytes_max);
  EXPECT_EQ(part.at("total"), k_result_bytes_max + 10);
  EXPECT_EQ(part.at("next_offset"), k_result_bytes_max);
  EXPECT_THAT(text_in(part, "next"), HasSubstr("task_status with result_offset 49152"));
  EXPECT_EQ(shown.at("left_out"), json::array{"result"});
  EXPECT_EQ(shown.at("whole_at"), "skein://tasks/t1");
}

TEST(TaskViewTest, shows_a_little_of_params_that_do_not_fit) {
  json::object task = task_with(1);
  task["params"] = std::string(k_result_bytes_max + 1, 'p');
  const json::object shown = shown_task(task);
  EXPECT_EQ(shown.at("params_part").at("text").as_string().size(), k_params_shown_max);
  EXPECT_EQ(shown.at("params_part").at("total"), k_result_bytes_max + 1);
  EXPECT_EQ(shown.at("result"), 1);
}

TEST(TaskViewTest, gives_pieces_that_make_the_whole_and_never_half_a_character) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  for (const std::uint64_t bytes : {1ULL, 2ULL, 3ULL, 1000ULL, 4096ULL}) {
    EXPECT_TRUE(read_whole(task_with(json::value(json::string(text))), bytes) == text) << bytes;
  }
  const json::value value = json::parse(R"({"numbers":[1,2.5,"three"],"more":null})");
  EXPECT_EQ(json::parse(read_whole(task_with(value), 7)), value) << "anything but a string comes as JSON";
}

TEST(TaskViewTest, has_nothing_past_the_end) {
  json::object arguments{{"result_offset", 100}};
  const json::object part =
      shown_task(task_with(json::value("short")), take_result_page(arguments)).at("result_part").as_object();
  EXPECT_EQ(part.at("text"), "");
  EXPECT_EQ(part.at("total"), 5);
  EXPECT_FALSE(part.contains("next_offset"));
  EXPECT_TRUE(arguments.empty()) << "the node is not asked for a page";
}

TEST(TaskViewTest, links_to_the_whole_for_clients_that_know_links) {
  const json::object shown = shown_task(task_with(letters(k_result_bytes_max + 10)));
  const auto blocks = [&](std::string_view version, const json::object& task) {
    json::object result{{"content", json::array{json::object{{"type", "text"}, {"text", "x"}}}}};
    add_link(task, version, result);
    return result.at("content").as_array();
  };
  const json::array linked = blocks("2025-06-18", shown);
  ASSERT_EQ(linked.size(), 2U);
  EXPECT_EQ(linked[1].at("type"), "resource_link");
  EXPECT_EQ(linked[1].at("uri"), "skein://tasks/t1");
  EXPECT_EQ(blocks("2025-03-26", shown).size(), 1U);
  EXPECT_EQ(blocks("2026-07-28", task_with(1)).size(), 1U);
}

}  // namespace
}  // namespace skein::inline v0::mcp
