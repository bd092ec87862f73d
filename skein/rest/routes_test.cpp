#include "skein/rest/routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "skein/operations/json_forms.hpp"
#include "skein/operations/methods.hpp"
#include "skein/rest/openapi.hpp"
#include "skein/rest/rest_service.hpp"

namespace skein::inline v0::rest {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char each) { return static_cast<char>(each | 0x20); });
  return out;
}

net::HttpRequest request_of(std::string query, std::string body = {}) {
  net::HttpRequest request;
  request.query = std::move(query);
  request.body = std::move(body);
  return request;
}

std::string read_of(std::string_view method, std::string_view path, const net::HttpRequest& request) {
  Match found = match(method, path);
  if (found.operation == nullptr) return "no route";
  const auto params = read_params(*found.operation, std::move(found.values), request);
  if (!params) return params.error().describe();
  const auto arguments = operations::read_arguments(found.operation->params, *params);
  return arguments ? operations::json_text(*params) : arguments.error().describe();
}

TEST(RestRoutes, are_all_in_the_openapi_file_and_it_has_no_others) {
  std::set<std::string> in_table;
  for (const Operation* each : routes()) in_table.insert(small(each->rest.method) + " " + std::string(each->rest.path));
  EXPECT_EQ(in_table.size(), routes().size()) << "a route is there twice";
  std::set<std::string> in_file;
  for (const auto& path : openapi().at("paths").as_object()) {
    for (const auto& method : path.value().as_object()) {
      in_file.insert(std::string(method.key()) + " " + std::string(path.key()));
    }
  }
  EXPECT_EQ(in_table, in_file);
}

TEST(RestRoutes, have_a_schema_for_every_answer_and_a_param_for_every_part_of_a_path) {
  const json::object& schemas = openapi().at("components").at("schemas").as_object();
  for (const Operation* each : routes()) {
    EXPECT_TRUE(schemas.contains(each->answer)) << each->answer;
    const auto count = [&](Place place) {
      return std::ranges::count_if(each->params, [&](const Param& param) { return place_of(*each, param) == place; });
    };
    EXPECT_EQ(std::ranges::count(each->rest.path, '{'), count(Place::path)) << each->rest.path;
    EXPECT_TRUE(count(Place::body) == 0 || each->rest.method == "POST" || each->rest.method == "PATCH") << each->name;
  }
}

// What steers the program itself stays on the Unix socket, which only its own user reaches.
TEST(RestRoutes, offer_every_operation_but_those_that_are_for_the_socket) {
  const std::set<std::string_view> not_here{"hello", "cancel",    "mcp",    "tree_watch", "describe", "trace",
                                            "dump",  "log_level", "reload", "stop",       "backup",   "chaos_kill"};
  for (const Operation& each : operations::operations()) {
    EXPECT_NE(each.is_on(operations::Way::rest), not_here.contains(each.name)) << each.name;
  }
}

TEST(RestRoutes, give_every_error_of_an_operation_a_status) {
  std::set<std::string_view> unexpected;
  for (std::size_t i = 0; i < operations::k_code_count; ++i) {
    const auto code = static_cast<operations::Code>(i);
    if (status_of(operations::name_of(code)) == 500 && code != operations::Code::internal) {
      unexpected.insert(operations::name_of(code));
    }
  }
  EXPECT_THAT(unexpected, IsEmpty());
}

TEST(RestRoutes, are_found_by_method_and_path_and_say_which_methods_a_path_takes) {
  const Match found = match("POST", "/api/v1/tasks/a%20b/cancel");
  ASSERT_NE(found.operation, nullptr);
  EXPECT_EQ(found.operation->name, "task_cancel");
  EXPECT_EQ(found.values.at("id"), "a b");
  EXPECT_EQ(match("PUT", "/api/v1/tasks").allowed, "GET, POST");
  for (const char* path : {"/api/v1", "/api/v1/", "/api/v1/task", "/api/v1/tasks/", "/api/v1/tasks//cancel",
                           "/api/v2/tasks", "/api/v1tasks", "/api/v1/tasks/x/cancel/more", "/api/v1/tasks/%ff"}) {
    const Match none = match("GET", path);
    EXPECT_EQ(none.operation, nullptr) << path;
    EXPECT_EQ(none.allowed, "") << path;
  }
}

TEST(RestParams, come_from_path_query_and_body) {
  EXPECT_EQ(read_of("GET", "/api/v1/tasks", request_of("state=queued&limit=5&text=a+b%26c")),
            R"({"state":"queued","limit":5,"text":"a b&c"})");
  EXPECT_EQ(read_of("GET", "/api/v1/tasks", request_of("finished_from=2026-01-02T00:00:00Z")),
            R"({"finished_from":"2026-01-02T00:00:00Z","limit":100})");
  EXPECT_EQ(read_of("GET", "/api/v1/events", request_of("kinds=task_queued,journal&after=0")),
            R"({"kinds":["task_queued","journal"],"after":0})");
  EXPECT_EQ(read_of("GET", "/api/v1/agents", request_of("capabilities=a,b&limit=5&capabilities=c")),
            R"({"capabilities":["a","b","c"],"limit":5})")
      << "a list may be repeated";
  EXPECT_EQ(read_of("POST", "/api/v1/tasks", request_of("", R"({"type":"echo","params":{"a":[1.5,null]}})")),
            R"({"type":"echo","params":"{\"a\":[1.5,null]}"})");
  EXPECT_EQ(read_of("POST", "/api/v1/swarms/x/scale", request_of("", R"({"min":1,"max":2})")),
            R"({"name":"x","min":1,"max":2})");
  EXPECT_EQ(read_of("GET", "/api/v1/agents", request_of("")), R"({"limit":100})") << "REST's own default";
}

TEST(RestParams, are_read_under_their_older_names_too) {
  EXPECT_EQ(read_of("PATCH", "/api/v1/swarms/x", request_of("", R"({"agents_min":2,"idle_shrink":"5s"})")),
            R"({"name":"x","agents_min":2,"idle_shrink":"5s"})");
  EXPECT_THAT(read_of("PATCH", "/api/v1/swarms/x", request_of("", R"({"agents_min":2,"min":3})")),
              HasSubstr("min is given twice"));
}

TEST(RestParams, keep_numbers_as_they_were_written) {
  EXPECT_EQ(read_of("POST", "/api/v1/tasks",
                    request_of("", R"({"type":"echo","params":{"n":12345678901234567890123,"m":[1e2,0.10]}})")),
            R"({"type":"echo","params":"{\"n\":12345678901234567890123,\"m\":[1e2,0.10]}"})");
}

TEST(RestRoutes, say_in_the_openapi_file_how_much_may_be_asked_for) {
  const json::value& listed = openapi().at("paths").at("/agents").at("get").at("parameters");
  const auto is_limit = [](const json::value& each) { return each.at("name") == "limit"; };
  const auto found = std::ranges::find_if(listed.as_array(), is_limit);
  ASSERT_NE(found, listed.as_array().end());
  const json::value& limit = *found;
  EXPECT_EQ(limit.at("schema").at("minimum"), 1);
  EXPECT_EQ(limit.at("schema").at("maximum"), 1000);
}

TEST(RestParams, that_are_wrong_are_refused_with_what_is_known) {
  EXPECT_THAT(read_of("GET", "/api/v1/tasks", request_of("colour=red")), HasSubstr("known here: state, swarm"));
  EXPECT_THAT(read_of("GET", "/api/v1/tasks", request_of("limit=5&limit=6")), HasSubstr("twice"));
  EXPECT_THAT(read_of("GET", "/api/v1/tasks", request_of("limit=")), HasSubstr("whole number"));
  EXPECT_THAT(read_of("GET", "/api/v1/agents", request_of("limit=1001")), HasSubstr("from 1 to 1000, not 1001"));
  EXPECT_THAT(read_of("GET", "/api/v1/tasks", request_of("text=%4")), HasSubstr("percent-encoded"));
  EXPECT_THAT(read_of("GET", "/api/v1/status", request_of("", "{\"a\":1}")),
              HasSubstr("this operation takes no parameters"));
  EXPECT_THAT(read_of("POST", "/api/v1/tasks", request_of("", "{}")), HasSubstr("type is missing"));
  EXPECT_THAT(read_of("POST", "/api/v1/tasks", request_of("", "7")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(read_of("POST", "/api/v1/tasks", request_of("type=echo")), HasSubstr("unknown in the query"));
  EXPECT_THAT(read_of("POST", "/api/v1/swarms/x/scale", request_of("", R"({"name":"y","min":1,"max":2})")),
              HasSubstr("unknown member 'name'"));
}

}  // namespace
}  // namespace skein::inline v0::rest
