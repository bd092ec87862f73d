// Fixtures that ask the client: elicitation, sampling and roots, in both eras.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>
#include <vector>

#include "skein/mcp/fixtures.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

InputRequest elicits(std::string key, std::string_view text, json::value schema) {
  return {std::move(key), "elicitation/create", {{"message", text}, {"requestedSchema", std::move(schema)}}};
}

InputRequest elicits_name(std::string key) {
  return elicits(std::move(key), "What is your name?",
                 json::parse(R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})"));
}

InputRequest samples(std::string key, std::string_view prompt) {
  return {std::move(key),
          "sampling/createMessage",
          {{"messages", json::array{json::object{{"role", "user"}, {"content", {{"type", "text"}, {"text", prompt}}}}}},
           {"maxTokens", 100}}};
}

InputRequest lists_roots(std::string key) { return {std::move(key), "roots/list", json::object()}; }

void tell_client(Exchange& exchange, std::string_view text) {
  exchange.finish({{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}});
}

// Asks for what is missing of these, then says what it got.
Handler needs_all(std::vector<InputRequest> requests) {
  return [requests = std::move(requests)](Exchange& exchange) {
    std::vector<InputRequest> missing;
    std::string got = "Got";
    for (const InputRequest& each : requests) {
      const json::object* input = exchange.input(each.key);
      if (input == nullptr) {
        missing.push_back(each);
      } else {
        got += fmt::format(" {}={}", each.key, operations::json_text(*input));
      }
    }
    if (!missing.empty()) return exchange.need(std::move(missing), json::value("asked"));
    tell_client(exchange, got);
  };
}

// Only what the client says it can.
void by_capabilities(Exchange& exchange) {
  std::vector<InputRequest> wanted;
  if (exchange.client_can("elicitation")) wanted.push_back(elicits_name("user_name"));
  if (exchange.client_can("sampling")) wanted.push_back(samples("greeting", "Say hello"));
  if (exchange.client_can("roots")) wanted.push_back(lists_roots("roots"));
  if (wanted.empty()) return tell_client(exchange, "The client can give nothing");
  needs_all(std::move(wanted))(exchange);
}

void two_rounds(Exchange& exchange) {
  if (exchange.input("step1") == nullptr) return exchange.need({elicits_name("step1")}, json::value(1));
  if (exchange.input("step2") == nullptr) return exchange.need({elicits_name("step2")}, json::value(2));
  // A client may give all input at once, without ever having been asked.
  const json::value& state = exchange.state();
  tell_client(exchange,
              "Both rounds are done after state " + (state.is_null() ? "none" : operations::json_text(state)));
}

void prompt_with_input(Exchange& exchange) {
  const json::object* input = exchange.input("user_context");
  if (input == nullptr) return exchange.need({elicits_name("user_context")});
  const std::string text = "Context: " + operations::json_text(*input);
  exchange.finish(
      {{"messages", json::array{json::object{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}}}});
}

void elicitation(Exchange& exchange) {
  const json::value schema = json::parse(R"({"type":"object","properties":{
      "username":{"type":"string","description":"User's response"},
      "email":{"type":"string","description":"User's email address"}},"required":["username","email"]})");
  const json::object* input = exchange.input("user");
  if (input == nullptr) return exchange.need({elicits("user", text_in(exchange.arguments(), "message"), schema)});
  tell_client(exchange, "User response: " + operations::json_text(*input));
}

void sampling(Exchange& exchange) {
  const json::object* input = exchange.input("answer");
  if (input == nullptr) return exchange.need({samples("answer", text_in(exchange.arguments(), "prompt"))});
  tell_client(exchange, "LLM response: " + operations::json_text(*input));
}

Handler elicits_once(const char* schema) {
  return [schema](Exchange& exchange) {
    const json::object* input = exchange.input("form");
    if (input == nullptr) return exchange.need({elicits("form", "Please fill in the form", json::parse(schema))});
    const json::value* content = input->if_contains("content");
    tell_client(exchange, fmt::format("Elicitation completed: action={}, content={}", text_in(*input, "action"),
                                      content != nullptr ? operations::json_text(*content) : "{}"));
  };
}

constexpr const char* k_defaults = R"({"type":"object","properties":{
  "name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
  "score":{"type":"number","default":95.5},
  "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
  "verified":{"type":"boolean","default":true}}})";
constexpr const char* k_enums = R"({"type":"object","properties":{
  "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
  "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
    {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
  "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
    "enumNames":["Option One","Option Two","Option Three"]},
  "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
  "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
    {"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}})";

}  // namespace

void add_input_fixtures(Catalog& catalog) {
  const auto add = [&](const char* name, const char* schema, Handler call) {
    catalog.add(Tool{name, "", "Conformance: asks the client", json::parse(schema), {}, {}, std::move(call)});
  };
  const char* const none = R"({"type":"object"})";
  add("test_sampling", R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})",
      sampling);
  add("test_elicitation", R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})",
      elicitation);
  add("test_elicitation_sep1034_defaults", none, elicits_once(k_defaults));
  add("test_elicitation_sep1330_enums", none, elicits_once(k_enums));
  add("test_input_required_result_elicitation", none, needs_all({elicits_name("user_name")}));
  add("test_input_required_result_sampling", none, needs_all({samples("capital_question", "Capital of France?")}));
  add("test_input_required_result_list_roots", none, needs_all({lists_roots("client_roots")}));
  add("test_input_required_result_request_state", none, needs_all({elicits_name("confirm")}));
  add("test_input_required_result_tampered_state", none, needs_all({elicits_name("confirm")}));
  add("test_input_required_result_multiple_inputs", none,
      needs_all({elicits_name("user_name"), samples("greeting", "Say hello"), lists_roots("client_roots")}));
  add("test_input_required_result_multi_round", none, two_rounds);
  add("test_input_required_result_capabilities", none, by_capabilities);
  catalog.add(
      Prompt{"test_input_required_result_prompt", "", "Conformance: a prompt that asks", {}, prompt_with_input});
}

}  // namespace skein::inline v0::mcp
