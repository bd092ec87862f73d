// MCP without a socket: takes a client's messages and gives back what is to be sent, for all transports alike. Pure:
// time, randomness and the node are handed in or asked for through the Outlet. One thread at a time.
//
// One McpCore is one client as far as the transport knows it: a connection (stdio, TCP, WebSocket), a legacy session on
// HTTP, or an HTTP connection of the modern era, where every request stands alone.
//
// 1. Every request is answered once, in the era it was asked in, or cancelled: then not at all. Its stream is ended.
// 2. A request with modern _meta gets modern rules, whatever was said before; initialize without gets legacy ones.
// 3. At most CoreLimits::requests are under way, and no two with one id.
// 4. A handler that throws has its own request answered with an internal error; the others go on.
// 5. A client bound to a swarm or a task is told of changes of single things that it may read, and of no others. One
//    that shows the token of an attempt that has ended gets no answers and no notifications.
// 6. What comes back from a client (request states, answers to our questions) is taken only if it is what went out.
#pragma once

#include <boost/json/array.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/mcp/catalog.hpp"
#include "skein/mcp/exchange.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/outlet.hpp"
#include "skein/mcp/seal.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/principal.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::size_t k_requests_max = 1000;           // under way of one client
inline constexpr std::size_t k_subscriptions_max = 1000;      // resources of one client, legacy, or of one listen
inline constexpr std::size_t k_listens_max = 16;              // at once, of one client
inline constexpr std::size_t k_completions_max = 100;         // values in one answer, as the protocol says
inline constexpr std::chrono::seconds k_input_wait_max{600};  // for a client's user; also the life of a request state

struct CoreSetup {
  std::shared_ptr<const Catalog> catalog;
  std::shared_ptr<const Sealer> sealer;
  std::function<std::int64_t()> wall_s;                    // seconds since 1970
  operations::PrincipalPtr who = operations::the_owner();  // at the other end, as the transport found out
  MessageLimits limits{};
  std::function<void(const std::string& line)> log{};  // of what went wrong here; may be empty
};

// The state of a legacy session that must outlive its process.
struct LegacySession {
  std::string version;
  std::set<std::string> capabilities;  // those we use, of the client
  std::string who{};                   // began it, see Principal::label(): nobody else may use it
};

// The session that an initialize request makes: the version it asks for if it is known here, or else our latest.
// Nothing when it asks for none.
[[nodiscard]] std::optional<LegacySession> negotiate(const json::object& params);

class McpCore {
 public:
  McpCore(CoreSetup setup, Outlet& outlet) : setup_(std::move(setup)), outlet_(outlet) {}
  McpCore(const McpCore&) = delete;
  McpCore& operator=(const McpCore&) = delete;

  // A text that should be a message.
  void receive(StreamId from, std::string_view text);
  // A message that was parsed. On HTTP the version is also in a header, which decides the era when _meta does not.
  void receive(StreamId from, RpcMessage message, std::string_view header_version = {});

  void answered(std::uint64_t call, const NodeAnswer& answer);
  void woken(std::uint64_t timer);
  void changed(const Change& change);
  // There were changes that changed() was not called for: who subscribed is told of everything.
  void lost_track();
  // Tasks may have changed since who listens for them was told.
  void look_at_tasks();
  // The client has left a stream: in the modern era the requests made on it are cancelled.
  void closed(StreamId stream);
  // The server goes down: who listens is told that this is the end.
  void shut_down();

  // The token is no longer valid: a client that listens with it is told so, and that this is the end.
  void expel(const operations::Error& why);

  // Sets the client on whose behalf later messages are handled; on HTTP every request sets it.
  void act_for(operations::PrincipalPtr who) { setup_.who = std::move(who); }
  [[nodiscard]] const operations::PrincipalPtr& who() const { return setup_.who; }

  [[nodiscard]] const std::optional<LegacySession>& session() const { return session_; }
  // Goes on with a session that another McpCore had.
  void resume(LegacySession session) { session_ = std::move(session); }
  [[nodiscard]] std::size_t under_way() const { return exchanges_.size(); }
  [[nodiscard]] std::size_t listening() const;
  [[nodiscard]] static bool has_method(std::string_view name, Era era);

 private:
  friend class Exchange;
  using Method = void (McpCore::*)(Exchange&, const json::object& params);
  struct MethodEntry {
    std::string_view name;
    bool in_legacy;
    bool in_modern;
    Method call;
  };
  [[nodiscard]] static const MethodEntry* find_method(std::string_view name);

  // Batches, core_batch.cpp.
  [[nodiscard]] bool may_batch() const;
  void receive_batch(StreamId from, std::string_view text);
  void answer_in_batch(std::uint64_t batch, json::object answer);
  // One answer less is to come.
  void count_down(std::uint64_t batch);
  // The last message to a request; it goes into the batch the request came in.
  void send_last(StreamId to, std::uint64_t batch, json::object message, int status);

  void on_request(StreamId from, RpcMessage& message, std::string_view header_version);
  void on_notification(StreamId from, const RpcMessage& message);
  void on_response(StreamId from, const RpcMessage& message);
  [[nodiscard]] std::optional<RpcError> modern_fault(const json::object& params, std::string_view header_version) const;
  [[nodiscard]] bool is_modern(const RpcMessage& message, std::string_view header_version) const;
  void refuse(StreamId to, const json::value& id, const RpcError& error);
  // Does what a handler wants done. An exception that leaves it is the end of this one request, not of the client.
  template <class Work>
  void guarded(Exchange& exchange, Work work);
  // With the token of an attempt: the node is asked first whether the attempt still runs.
  void call_if_it_runs(Exchange& exchange, Method call, json::object params);
  void cancel(std::uint64_t number);
  void sweep();

  // Methods, core_methods.cpp.
  void initialize(Exchange& exchange, const json::object& params);
  void ping(Exchange& exchange, const json::object& params);
  void set_level(Exchange& exchange, const json::object& params);
  void discover(Exchange& exchange, const json::object& params);
  void list_tools(Exchange& exchange, const json::object& params);
  void call_tool(Exchange& exchange, const json::object& params);
  void list_prompts(Exchange& exchange, const json::object& params);
  void get_prompt(Exchange& exchange, const json::object& params);
  void list_resources(Exchange& exchange, const json::object& params);
  void list_templates(Exchange& exchange, const json::object& params);
  void read_resource(Exchange& exchange, const json::object& params);
  void complete(Exchange& exchange, const json::object& params);
  template <class Item, class Fits>
  void list(Exchange& exchange, const json::object& params, const char* name, const std::vector<Item>& all, Fits fits);
  // Resources that the client may not read are neither listed nor returned.
  [[nodiscard]] bool may_read(const Resource& resource) const;
  [[nodiscard]] std::optional<operations::Error> refused(const Prompt& prompt) const;
  [[nodiscard]] json::object capabilities() const;
  [[nodiscard]] json::object server_info() const;

  // Subscriptions: core_subscriptions.cpp.
  void subscribe(Exchange& exchange, const json::object& params);
  void unsubscribe(Exchange& exchange, const json::object& params);
  void listen(Exchange& exchange, const json::object& params);
  void begin_listening(Exchange& exchange, json::object filter, const json::array& handles);
  // Continues with `then` if the client may read all of these; otherwise the request fails.
  void if_may_watch(Exchange& exchange, std::vector<std::string> uris, Exchange::OnTime then);
  void watch_if_needed();
  void tell(const Change& change);
  void pause_updates();
  [[nodiscard]] std::set<std::string> resources_watched() const;

  // Input of the client, core_inputs.cpp.
  void run(Exchange& exchange);
  [[nodiscard]] bool take_inputs(Exchange& exchange, const json::object& params);
  void need(Exchange& exchange, std::vector<InputRequest> requests, json::value state);
  void ask_client(Exchange& exchange, std::vector<InputRequest> requests);
  void missing_capability(Exchange& exchange, std::string_view capability);

  // The tasks extension, core_tasks.cpp.
  void get_task(Exchange& exchange, const json::object& params);
  void update_task(Exchange& exchange, const json::object& params);
  void cancel_task(Exchange& exchange, const json::object& params);
  void become_task(Exchange& exchange, std::string id);
  void missing_tasks(Exchange& exchange);
  // Null when no tool has such tasks.
  [[nodiscard]] const TaskSupport* support_of(const TaskHandle& task) const;
  // The task a request names; nothing: answered.
  [[nodiscard]] std::optional<TaskHandle> task_named(Exchange& exchange, const json::object& params);
  void look(Exchange& exchange, const TaskHandle& task, Exchange::OnAnswer then);
  [[nodiscard]] json::array watch_tasks(Exchange& exchange, const json::array& handles);
  void tell_tasks(Exchange& exchange);
  void tell_task(Exchange& exchange, const std::string& id);
  void told_task(Exchange& exchange, const TaskHandle& task, const NodeAnswer& answer);
  void task_changed(const std::string& id);

  void finish(Exchange& exchange, json::object result);
  void fail(Exchange& exchange, const RpcError& error);
  void end(Exchange& exchange);
  void send(Exchange& exchange, json::object message) {
    outlet_.send(exchange.stream_, std::move(message), Outlet::Then::more, net::http_status::k_ok);
  }

  CoreSetup setup_;
  Outlet& outlet_;
  std::optional<LegacySession> session_;
  std::size_t log_level_ = 1;  // of the legacy session: info
  std::unordered_map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;
  std::map<std::string, std::uint64_t> by_id_;  // an id as JSON text
  std::vector<std::uint64_t> over_;             // answered in this turn
  struct Batch {
    StreamId stream = k_own_stream;
    std::size_t left = 0;  // answers that are still to come
    std::vector<json::object> answers{};
  };
  std::map<std::uint64_t, Batch> batches_;
  std::uint64_t in_batch_ = 0;  // while the messages of one are taken in; 0: none
  struct Call {
    std::uint64_t exchange = 0;
    Exchange::OnAnswer then;
  };
  std::unordered_map<std::uint64_t, Call> calls_;
  struct Timer {
    std::uint64_t exchange = 0;
    Exchange::OnTime then;
  };
  std::unordered_map<std::uint64_t, Timer> timers_;
  struct Question {
    std::uint64_t exchange = 0;
    std::string key;
    std::string method;
  };
  std::map<std::string, Question, std::less<>> questions_;  // our requests to a legacy client
  std::set<std::string, std::less<>> subscriptions_;        // of the legacy session
  std::set<std::string> held_back_;                         // resources that changed again too soon
  std::uint64_t pause_timer_ = 0;                           // 0: none
  Outlet::Watch watched_ = Outlet::Watch::nothing;
  std::uint64_t last_number_ = 0;
};

}  // namespace skein::inline v0::mcp
