// A request of a client that is being answered, as the handlers of tools, prompts and resources see it. Belongs to its
// McpCore and lives until the end of the turn in which it is answered; a handler touches it nowhere else.
//
// A handler is called once, and again each time the client has given input it asked for with need(): it looks at what
// is there and goes on. It answers exactly once, with finish(), finish_error() or fail(), now or in a callback.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/outlet.hpp"
#include "skein/mcp/protocol.hpp"
#include "skein/mcp/tool_arguments.hpp"

namespace skein::inline v0::mcp {

class McpCore;

// An answer of the node; of an error, an object with code, message and advice.
struct NodeAnswer {
  enum class Kind : std::uint8_t { ok, part, error };
  Kind kind = Kind::ok;
  json::value value;
};

// Something only the client can give: elicitation/create, sampling/createMessage or roots/list.
struct InputRequest {
  std::string key;  // the handler's name for it
  std::string method;
  json::object params;
};

// The client, as far as the request or the session identifies it.
struct Caller {
  Era era = Era::legacy;
  std::string version{};
  json::object capabilities{};
  std::size_t log_level = k_log_levels.size();  // index of the least severe it wants; past the end: none
};

class Exchange {
 public:
  using OnAnswer = std::function<void(Exchange&, const NodeAnswer&)>;
  using OnTime = std::function<void(Exchange&)>;
  using Handler = std::function<void(Exchange&)>;

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() = default;

  [[nodiscard]] const std::string& method() const { return method_; }
  // Of the tool or prompt, or the resource's uri.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const json::object& arguments() const { return arguments_; }
  // What stands in the uri where its template has a variable.
  [[nodiscard]] const std::string& variable() const { return variable_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] bool client_can(std::string_view capability) const { return caller_.capabilities.contains(capability); }
  [[nodiscard]] bool wants_progress() const { return !progress_token_.is_null(); }
  // It may be answered with become_task().
  [[nodiscard]] bool can_task() const;

  void finish(json::object result);
  // The tool did not do what was asked, and says why: the model can do something about it.
  void finish_error(std::string_view text);
  void fail(RpcError error);
  // The request goes on as this task, which is durable; the tool must support it, see task_support.hpp.
  void become_task(std::string id);

  // The client's answer to an InputRequest with this key; null while there is none.
  [[nodiscard]] const json::object* input(std::string_view key) const;
  // The state that the handler gave to need() before.
  [[nodiscard]] const json::value& state() const { return state_; }
  // Asks the client; the handler is called again with the input.
  void need(std::vector<InputRequest> requests, json::value state = nullptr);

  // Only if the client wants it and it has risen.
  void progress(double done, std::optional<double> total, std::string_view message = {});
  void log(std::string_view level, std::string_view logger, json::value data);

  void ask_node(std::string_view op, json::object params, OnAnswer then);
  void ask_standing(OnAnswer then);
  void after(std::chrono::milliseconds time, OnTime then);
  void announce(const Change& change);
  // On HTTP a legacy client then comes back for the answer; elsewhere this does nothing.
  void let_go();

 private:
  friend class McpCore;
  Exchange(McpCore& core, std::uint64_t number, StreamId stream, json::value id)
      : core_(core), number_(number), stream_(stream), id_(std::move(id)) {}

  McpCore& core_;
  std::uint64_t number_;
  StreamId stream_;
  json::value id_;
  std::string method_{};
  std::string name_{};
  json::object arguments_{};
  IgnoredArguments ignored_{};  // of a tool call
  std::string variable_{};
  Caller caller_{};
  json::value progress_token_{};
  std::optional<double> progress_{};
  Handler handler_{};
  json::object inputs_{};
  json::value state_{};
  std::string written_{};          // see RpcMessage
  std::string digest_{};           // of what was asked, for the request state
  std::set<std::string> waits_{};  // ids of our requests to a legacy client that are not answered
  json::object filter_{};          // of subscriptions/listen
  struct WatchedTask {
    std::string handle;
    std::string tool;
    std::string said;       // of it last
    bool is_asked = false;  // the node is asked how it stands
    bool is_stale = false;  // it has changed meanwhile
  };
  std::map<std::string, WatchedTask> watched_{};  // of subscriptions/listen, by id
  std::uint64_t batch_ = 0;                       // that it came in; 0: none
  bool is_listening_ = false;
  bool is_over_ = false;
};

}  // namespace skein::inline v0::mcp
