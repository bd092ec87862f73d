// For tests: a McpCore with a small catalog, an Outlet that writes down what was asked, and short ways to talk to it.
//
// When SKEIN_MCP_RECORD names a file, every message that is sent is added to it, a line each, with the version it
// belongs to and the method that it answers: tests/mcp_messages checks them.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/mcp/core.hpp"

namespace skein::inline v0::mcp {

class RecordingOutlet final : public Outlet {
 public:
  struct Sent {
    StreamId to = 0;
    json::object message;
    bool is_last = false;
    int status = 0;
  };
  struct Asked {
    std::uint64_t call = 0;
    std::string op;
    json::object params;
  };
  struct Wake {
    std::uint64_t timer = 0;
    std::chrono::milliseconds time{};
  };

  void send(StreamId to, json::object message, Then then, int status) override {
    if (on_send) on_send(message);
    sent.push_back({to, std::move(message), then == Then::end, status});
  }
  void end(StreamId stream) override { ended.push_back(stream); }
  void let_go(StreamId stream) override { let_gone.push_back(stream); }
  void ask_node(std::uint64_t call, std::string_view op, json::object params) override {
    asked.push_back({call, std::string(op), std::move(params)});
  }
  void ask_standing(std::uint64_t call) override { asked.push_back({call, "standing", {}}); }
  void give_up(std::uint64_t call) override { given_up.push_back(call); }
  void wake_after(std::uint64_t timer, std::chrono::milliseconds time) override { wakes.push_back({timer, time}); }
  void watch(Watch what) override { watched = what; }
  void announce(const Change& change) override { announced.push_back(change); }

  std::vector<Sent> sent;
  std::vector<StreamId> ended;
  std::vector<StreamId> let_gone;
  std::vector<Asked> asked;
  std::vector<std::uint64_t> given_up;
  std::vector<Wake> wakes;
  std::vector<Change> announced;
  Watch watched = Watch::nothing;
  std::function<void(const json::object&)> on_send;
};

class CoreTest : public testing::Test {
 protected:
  using Sent = RecordingOutlet::Sent;

  CoreTest() {
    if (const char* file = std::getenv("SKEIN_MCP_RECORD")) {
      outlet_.on_send = [this, file](const json::object& message) { record(file, message); };
    }
  }

  // Whatever was added to catalog_ before.
  McpCore& core() {
    if (!core_) {
      CoreSetup setup;
      setup.catalog = catalog_;
      setup.sealer = std::make_shared<const Sealer>("a key for tests");
      setup.wall_s = [this] { return now_s_; };
      setup.log = [this](const std::string& line) { logged_.push_back(line); };
      core_ = std::make_unique<McpCore>(std::move(setup), outlet_);
    }
    return *core_;
  }
  // Another client of the same server.
  void new_core() { core_.reset(); }

  static json::object modern(json::object params = {}, const json::object& capabilities = {}) {
    json::value& meta = params["_meta"];
    if (!meta.is_object()) meta = json::object();
    meta.get_object()[k_meta_version] = k_modern_version;
    meta.get_object()[k_meta_capabilities] = capabilities;
    return params;
  }
  // What was sent because of a request, the answer last.
  std::vector<Sent> ask(const json::value& id, std::string_view method, json::object params, StreamId stream = 7) {
    const std::size_t before = outlet_.sent.size();
    const json::object* meta = object_in(params, "_meta");
    const bool is_modern =
        method != "initialize" && (!core().session() || (meta != nullptr && meta->contains(k_meta_version)));
    version_ = is_modern ? k_modern_version : core().session() ? core().session()->version : k_legacy_version;
    methods_[json::serialize(id)] = method;
    core().receive(stream, json::serialize(make_request(id, method, std::move(params))));
    return {outlet_.sent.begin() + static_cast<std::ptrdiff_t>(before), outlet_.sent.end()};
  }
  json::object answer(std::string_view method, json::object params) {
    const auto sent = ask(++last_id_, method, std::move(params));
    EXPECT_FALSE(sent.empty()) << method << " was not answered";
    return sent.empty() ? json::object() : sent.back().message;
  }
  json::object result(std::string_view method, json::object params) {
    const json::object whole = answer(method, std::move(params));
    const json::object* result = object_in(whole, "result");
    EXPECT_NE(result, nullptr) << json::serialize(whole);
    return result != nullptr ? *result : json::object();
  }
  int error_code(std::string_view method, json::object params) {
    const json::object whole = answer(method, std::move(params));
    const json::object* error = object_in(whole, "error");
    return error != nullptr ? static_cast<int>(error->at("code").as_int64()) : 0;
  }
  void notify(std::string_view method, json::object params) {
    core().receive(3, json::serialize(make_notification(method, std::move(params))));
  }
  json::object initialize(std::string_view version = k_legacy_version, json::object capabilities = {}) {
    return result("initialize", {{"protocolVersion", version},
                                 {"capabilities", std::move(capabilities)},
                                 {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  }
  static std::string text_of(const json::object& result) {
    return std::string(result.at("content").as_array().at(0).at("text").as_string());
  }
  static json::object text_result(std::string_view text) {
    return {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}};
  }

  void record(const char* file, const json::object& message) {
    const json::value* id = message.if_contains("id");
    const auto found = id != nullptr ? methods_.find(json::serialize(*id)) : methods_.end();
    const json::object line{
        {"version", version_}, {"method", found != methods_.end() ? found->second : ""}, {"message", message}};
    std::ofstream(file, std::ios::app) << json::serialize(line) << '\n';
  }

  std::shared_ptr<Catalog> catalog_ = std::make_shared<Catalog>();
  RecordingOutlet outlet_;
  std::int64_t now_s_ = 1'000'000;
  std::vector<std::string> logged_;
  std::unique_ptr<McpCore> core_;
  int last_id_ = 0;
  std::string version_{k_modern_version};       // of the last request
  std::map<std::string, std::string> methods_;  // of requests, by id
};

}  // namespace skein::inline v0::mcp
