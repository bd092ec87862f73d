// The core of MCP, both eras: each line is something that happens to it, by its first character a message of a client,
// an answer of the node, a timer, a change, a stream that is closed. Whatever the order: what is sent are messages,
// each stream ends once at most, a request is answered once at most, and nothing is left under way past its limit.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/core.hpp"

namespace {

using namespace skein::mcp;  // NOLINT(google-build-using-namespace)

class CheckingOutlet final : public Outlet {
 public:
  void send(StreamId to, json::object message, Then then, int status) override {
    if (message.at("jsonrpc") != "2.0" || (then == Then::end && (status < 200 || status > 599))) std::abort();
    const bool is_answer = !message.contains("method");
    if (is_answer != (then == Then::end) || (is_answer && message.contains("result") == message.contains("error"))) {
      std::abort();
    }
    (void)json::serialize(message);
    if (to != k_own_stream && has_ended(to)) std::abort();
    if (then == Then::end) end(to);
  }
  void send_batch(StreamId to, std::vector<json::object> answers) override {
    if (answers.empty() || (to != k_own_stream && has_ended(to))) std::abort();
    for (const json::object& each : answers) {
      if (each.contains("method") || each.contains("result") == each.contains("error")) std::abort();
      (void)json::serialize(each);
    }
    end(to);
  }
  void end(StreamId stream) override {
    if (stream != k_own_stream && !ended_.insert(stream).second) std::abort();
  }
  void let_go(StreamId) override {}
  void ask_node(std::uint64_t call, std::string_view, json::object) override { calls.push_back(call); }
  void ask_standing(std::uint64_t call) override { calls.push_back(call); }
  void wake_after(std::uint64_t timer, std::chrono::milliseconds) override { timers.push_back(timer); }
  void watch(Watch) override {}
  void announce(const Change& change) override { changes.push_back(change); }

  [[nodiscard]] bool has_ended(StreamId stream) const { return ended_.contains(stream); }

  std::vector<std::uint64_t> calls;
  std::vector<std::uint64_t> timers;
  std::vector<Change> changes;

 private:
  std::set<StreamId> ended_;
};

void ask_user(Exchange& exchange) {
  for (const char* key : {"first", "second"}) {
    if (exchange.input(key) != nullptr) continue;
    return exchange.need({{key, "elicitation/create", {{"message", key}}}}, json::value(key));
  }
  exchange.finish({{"content", json::array()}});
}

void ask_node(Exchange& exchange) {
  exchange.after(std::chrono::seconds(5), [](Exchange& late) { late.progress(1, 2, "late"); });
  exchange.ask_node("task_wait", {}, [](Exchange& then, const NodeAnswer& answer) {
    then.log("info", "fuzz", answer.value);
    if (answer.kind == NodeAnswer::Kind::part) return then.progress(1, 2, "part");
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error("it failed");
    then.announce({Change::Kind::resource, "skein://tree"});
    then.finish({{"content", json::array{answer.value}}});
  });
}

std::shared_ptr<const Catalog> make_catalog() {
  auto catalog = std::make_shared<Catalog>();
  const json::value any = json::parse(R"({"type":"object"})");
  const json::value text =
      json::parse(R"({"type":"object","properties":{"text":{"type":"string","maxLength":9}},"required":["text"]})");
  catalog->lists_change = true;
  catalog->add(Tool{"echo", "Echo", "Says it again", text, {}, {}, [](Exchange& exchange) {
                      exchange.finish({{"content", json::array{exchange.arguments().at("text")}}});
                    }});
  catalog->add(Tool{"ask", "Ask", "Asks the user", any, {}, {}, ask_user, "elicitation"});
  catalog->add(Tool{"node", "Node", "Asks the node", any, {}, {}, ask_node});
  catalog->add(Prompt{"plan", "Plan", "Plans", {{"goal", "What for", true}}, ask_user});
  catalog->add(Resource{"skein://tree", "tree", "Tree", "The tree", "application/json", ask_node});
  catalog->add(Resource{"skein://tasks/{id}", "task", "Task", "A task", "application/json",
                        [](Exchange& exchange) { exchange.finish({{"contents", json::array{exchange.variable()}}}); }});
  return catalog;
}

class Story {
 public:
  Story() : core_(setup(), outlet_) {}

  void happens(std::string_view line) {
    const char kind = line.front();
    const std::string_view rest = line.substr(1);
    switch (kind) {
      case 'a':
        return answer(rest);
      case 't':
        if (!outlet_.timers.empty()) core_.woken(outlet_.timers.at(rest.size() % outlet_.timers.size()));
        return;
      case 'c':
        return core_.changed(rest.empty() ? Change{Change::Kind::tools}
                                          : Change{Change::Kind::resource, std::string(rest)});
      case 'x':
        return close(rest.size());
      case 'h':  // with the version in a header, as on HTTP
        if (auto message = parse_message(rest)) core_.receive(++last_stream_, std::move(*message), k_modern_version);
        return;
      default:
        return core_.receive(++last_stream_, line);
    }
  }
  void end() {
    core_.shut_down();
    if (core_.under_way() > last_stream_ * k_batch_max || core_.listening() != 0) std::abort();
  }

 private:
  static CoreSetup setup() {
    static const std::shared_ptr<const Catalog> k_catalog = make_catalog();
    static const auto k_sealer = std::make_shared<const Sealer>("key");
    CoreSetup setup;
    setup.catalog = k_catalog;
    setup.sealer = k_sealer;
    setup.wall_s = [] { return std::int64_t{1'000'000}; };
    return setup;
  }
  void answer(std::string_view how) {
    if (outlet_.calls.empty()) return;
    const auto kind = how.empty()          ? NodeAnswer::Kind::ok
                      : how.front() == 'p' ? NodeAnswer::Kind::part
                                           : NodeAnswer::Kind::error;
    core_.answered(outlet_.calls.at(how.size() % outlet_.calls.size()), {kind, json::object{{"message", how}}});
  }
  // As an HTTP connection does when its client is gone.
  void close(std::size_t which) {
    const StreamId stream = which % (last_stream_ + 1);
    if (stream != k_own_stream && !outlet_.has_ended(stream)) core_.closed(stream);
  }

  CheckingOutlet outlet_;
  McpCore core_;
  StreamId last_stream_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Story story;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) story.happens(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  story.end();
  return 0;
}
