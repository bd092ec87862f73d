#include "skein/mcp/fixtures.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;

// One red pixel, and a sound of no samples.
constexpr const char* k_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
constexpr const char* k_wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
constexpr auto k_step = 50ms;

json::object text_block(std::string_view text) { return {{"type", "text"}, {"text", text}}; }
json::object image_block() { return {{"type", "image"}, {"data", k_png}, {"mimeType", "image/png"}}; }
json::object audio_block() { return {{"type", "audio"}, {"data", k_wav}, {"mimeType", "audio/wav"}}; }
json::object resource_block(std::string_view uri, std::string_view mime, std::string_view text) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", mime}, {"text", text}}}};
}

// A tool that always gives the same content.
void content_tool(Catalog& catalog, const char* name, json::array content) {
  catalog.add(Tool{name,
                   "",
                   "Conformance: gives fixed content",
                   json::parse(R"({"type":"object"})"),
                   {},
                   {},
                   [content = std::move(content)](Exchange& exchange) { exchange.finish({{"content", content}}); }});
}

void plain_tool(Catalog& catalog, const char* name, const char* description, Handler call, std::string needs = {}) {
  catalog.add(
      Tool{name, "", description, json::parse(R"({"type":"object"})"), {}, {}, std::move(call), std::move(needs)});
}

void say_done(Exchange& exchange, std::string_view text) {
  exchange.finish({{"content", json::array{text_block(text)}}});
}

void with_logging(Exchange& exchange) {
  exchange.log("info", "fixture", "Tool execution started");
  exchange.after(k_step, [](Exchange& second) {
    second.log("info", "fixture", "Tool processing data");
    second.after(k_step, [](Exchange& last) {
      last.log("info", "fixture", "Tool execution completed");
      say_done(last, "Tool with logging executed");
    });
  });
}

void with_progress(Exchange& exchange) {
  exchange.progress(0, 100);
  exchange.after(k_step, [](Exchange& second) {
    second.progress(50, 100);
    second.after(k_step, [](Exchange& last) {
      last.progress(100, 100);
      say_done(last, "Tool with progress executed");
    });
  });
}

// The client is sent away and comes back for the answer.
void reconnection(Exchange& exchange) {
  exchange.let_go();
  exchange.after(200ms, [](Exchange& later) { say_done(later, "Answered after the stream was closed"); });
}

void one_resource(Exchange& exchange, std::string_view mime, std::string_view text) {
  exchange.finish(
      {{"contents", json::array{json::object{{"uri", exchange.name()}, {"mimeType", mime}, {"text", text}}}}});
}

json::object message(json::object content) { return {{"role", "user"}, {"content", std::move(content)}}; }

void content_resources(Catalog& catalog) {
  catalog.add(
      Resource{"test://static-text", "static-text", "", "Conformance: a text", "text/plain", [](Exchange& exchange) {
                 one_resource(exchange, "text/plain", "This is the content of the static text resource.");
               }});
  catalog.add(Resource{
      "test://static-binary", "static-binary", "", "Conformance: an image", "image/png", [](Exchange& exchange) {
        exchange.finish({{"contents", json::array{json::object{
                                          {"uri", exchange.name()}, {"mimeType", "image/png"}, {"blob", k_png}}}}});
      }});
  catalog.add(Resource{"test://watched-resource", "watched-resource", "", "Conformance: can be subscribed to",
                       "text/plain", [](Exchange& exchange) { one_resource(exchange, "text/plain", "watched"); }});
  catalog.add(Resource{"test://template/{id}/data", "template-data", "", "Conformance: a template", "application/json",
                       [](Exchange& exchange) {
                         const json::object data{{"id", exchange.variable()},
                                                 {"templateTest", true},
                                                 {"data", "Data for ID: " + exchange.variable()}};
                         one_resource(exchange, "application/json", operations::json_text(data));
                       }});
}

void content_prompts(Catalog& catalog) {
  catalog.add(Prompt{"test_simple_prompt", "", "Conformance: a prompt", {}, [](Exchange& exchange) {
                       exchange.finish(
                           {{"messages", json::array{message(text_block("This is a simple prompt for testing."))}}});
                     }});
  catalog.add(Prompt{"test_prompt_with_arguments",
                     "",
                     "Conformance: a prompt with arguments",
                     {{"arg1", "First", true}, {"arg2", "Second", true}},
                     [](Exchange& exchange) {
                       const std::string text =
                           fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                       text_in(exchange.arguments(), "arg1"), text_in(exchange.arguments(), "arg2"));
                       exchange.finish({{"messages", json::array{message(text_block(text))}}});
                     }});
  catalog.add(Prompt{
      "test_prompt_with_embedded_resource",
      "",
      "Conformance: a prompt with a resource",
      {{"resourceUri", "The resource", true}},
      [](Exchange& exchange) {
        exchange.finish(
            {{"messages", json::array{message(resource_block(text_in(exchange.arguments(), "resourceUri"), "text/plain",
                                                             "Embedded resource content for testing.")),
                                      message(text_block("Please process the embedded resource above."))}}});
      }});
  catalog.add(Prompt{"test_prompt_with_image", "", "Conformance: a prompt with an image", {}, [](Exchange& exchange) {
                       exchange.finish(
                           {{"messages", json::array{message(image_block()),
                                                     message(text_block("Please analyze the image above."))}}});
                     }});
}

}  // namespace

void add_content_fixtures(Catalog& catalog) {
  content_tool(catalog, "test_simple_text", {text_block("This is a simple text response for testing.")});
  content_tool(catalog, "test_image_content", {image_block()});
  content_tool(catalog, "test_audio_content", {audio_block()});
  content_tool(catalog, "test_embedded_resource",
               {resource_block("test://embedded-resource", "text/plain", "This is an embedded resource content.")});
  content_tool(catalog, "test_multiple_content_types",
               {text_block("Multiple content types test:"), image_block(),
                resource_block("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})")});
  plain_tool(catalog, "test_error_handling", "Conformance: always fails",
             [](Exchange& exchange) { exchange.finish_error("This tool intentionally returns an error for testing"); });
  plain_tool(catalog, "test_tool_with_logging", "Conformance: logs three times", with_logging);
  plain_tool(catalog, "test_logging_tool", "Conformance: logs if it is wanted", with_logging);
  plain_tool(catalog, "test_tool_with_progress", "Conformance: reports progress", with_progress);
  plain_tool(catalog, "test_streaming_elicitation", "Conformance: answers on a stream", with_progress);
  plain_tool(catalog, "test_reconnection", "Conformance: closes the stream before it answers", reconnection);
  plain_tool(
      catalog, "test_missing_capability", "Conformance: needs sampling",
      [](Exchange& exchange) { say_done(exchange, "The client declares sampling"); }, "sampling");
  plain_tool(catalog, "test_trigger_tool_change", "Conformance: says that the tools have changed",
             [](Exchange& exchange) {
               exchange.announce({Change::Kind::tools, {}});
               say_done(exchange, "announced");
             });
  plain_tool(catalog, "test_trigger_prompt_change", "Conformance: says that the prompts have changed",
             [](Exchange& exchange) {
               exchange.announce({Change::Kind::prompts, {}});
               say_done(exchange, "announced");
             });
  catalog.add(Tool{"json_schema_2020_12_tool",
                   "",
                   "Conformance: a schema of many words",
                   json::parse(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
                     "$defs":{"address":{"$anchor":"addressDef","type":"object",
                              "properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
                     "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
                       "contactMethod":{"type":"string","enum":["phone","email"]},
                       "phone":{"type":"string"},"email":{"type":"string"}},
                     "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
                     "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
                     "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})"),
                   {},
                   {},
                   [](Exchange& exchange) { say_done(exchange, "valid"); }});
  catalog.add(Tool{"test_custom_header",
                   "",
                   "Conformance: repeats an argument in a header",
                   json::parse(R"({"type":"object","properties":{
                     "region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]})"),
                   {},
                   {},
                   [](Exchange& exchange) { say_done(exchange, text_in(exchange.arguments(), "region")); }});
  content_resources(catalog);
  content_prompts(catalog);
}

void add_conformance_fixtures(Catalog& catalog) {
  catalog.lists_change = true;
  add_content_fixtures(catalog);
  add_input_fixtures(catalog);
  add_task_fixtures(catalog);
}

}  // namespace skein::inline v0::mcp
