// One client of the Unix socket: a process that reads requests, hands them on and writes the answers.
//
// The protocol: one JSON object per line, in both directions. The first request is hello.
//   {"id":1,"op":"hello","params":{"version":2}}      {"id":1,"ok":{"protocol":2,...}}
//   {"id":1,"op":"hello","params":{"version":2,"token":"..."}}   likewise, with the rights of that token
//   {"id":2,"op":"task_status","params":{"id":"..."}} {"id":2,"error":{"code":"task_not_found","message":"..."}}
//   {"id":3,"op":"events","params":{"follow":true}}   {"id":3,"part":{...}} ... until {"op":"cancel","params":{"id":3}}
//   {"id":4,"op":"mcp"}                               {"id":4,"ok":{}}, and from here on a line is a message of MCP
// An older version that is still served gets `notice` in the answer to hello, in words.
// Ids are the client's, and answers come in any order. What is no JSON object with an id is answered with id 0, and
// the connection goes on; a line that is too long ends it.
//
// The client is the node's owner, as the kernel says. An agent, or what one started, is served only with the token
// of its task in hello (executor setting `token`), with that token's rights; without one it is told so and closed, as
// is one that says no hello within k_agent_hello. At most k_agent_connections of them are open at once, so that agents
// cannot keep the owner out.
//
// 1. Nothing blocks, and nothing grows past SocketLimits: a client that sends much is read later, one that does not
//    read is closed. A client that asks for much over MCP is answered as fast as it reads.
// 2. A client that closed its side still gets its answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "skein/control/attendance.hpp"
#include "skein/control/limits.hpp"
#include "skein/control/protocol_version.hpp"
#include "skein/launcher/kinship.hpp"
#include "skein/mcp/line_session.hpp"
#include "skein/net/wire.hpp"
#include "skein/operations/methods.hpp"

namespace skein::inline v0::control {

namespace json = boost::json;
using net::FdPoller;
using net::FdReady;
using operations::Answer;
using operations::Responder;

// Shared by all connections of a node.
struct ConnectionSetup {
  Runtime* runtime = nullptr;
  std::shared_ptr<FdPoller> poller;
  std::shared_ptr<operations::NodeHooks> hooks;
  SocketLimits limits;
  std::shared_ptr<std::atomic<std::uint32_t>> open;    // connections now
  mcp::ServerPtr mcp{};                                // null: it is not spoken here
  std::shared_ptr<const operations::Access> access{};  // who shows a token in hello; null: nobody can
  std::shared_ptr<std::atomic<std::uint32_t>> agents = std::make_shared<std::atomic<std::uint32_t>>(0);  // connected
  std::function<launcher::Descent(int fd)> descent = launcher::descent_of_peer;
  std::shared_ptr<Attendance> attendance{};       // of those who speak it
  std::shared_ptr<DescriptorBudget> budget{};     // for the listener
  std::function<void(const std::string&)> log{};  // likewise, and for what connections meet
  // Whether the log has said that a program of an earlier release connects: once is enough.
  std::shared_ptr<std::atomic<bool>> has_met_older = std::make_shared<std::atomic<bool>>(false);
  std::function<void(const std::string&)> on_accepted{};
  std::function<void(const std::string&, const std::string&)> on_refused{};
};

// The answer to an agent that shows no token of its task.
[[nodiscard]] operations::Error agents_need_token();

class Connection {
 public:
  Connection(Self self, std::shared_ptr<const ConnectionSetup> setup, const net::ClientPtr& client);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void handle_info(Self self, Message message);
  void terminate(Self self, const ExitReason& reason);
  [[nodiscard]] std::string describe() const;

 private:
  using Subscription = operations::EventStream::Subscription;
  // A request that is answered in parts until it is cancelled.
  struct Stream {
    std::shared_ptr<operations::Operations> ops;  // keeps the event stream alive
    std::unique_ptr<Subscription> events;
    bool follows = false;
    std::chrono::milliseconds tree_every{0};
    std::string last_tree{};
  };
  struct EventsReady {
    std::uint64_t id = 0;
  };
  struct TreeTick {
    std::uint64_t id = 0;
  };
  struct IdleCheck {};
  struct HelloCheck {};     // for those who must log in
  struct StandingCheck {};  // of the token that streams were begun with

  void on_ready(Self self, const FdReady& ready);
  void read_some(Self self);
  void take_lines(Self self);
  void on_line(Self self, std::string_view line);
  void on_request(Self self, std::uint64_t id, std::string_view op, const json::object& params);
  void hello(const Responder& respond, const operations::Arguments& in);
  // Nothing when the token that hello shows, if any, lets it in.
  [[nodiscard]] std::optional<operations::Error> log_in(const std::string& token);
  void answer_hello(const Responder& respond) const;
  void begin_mcp(Self self, std::uint64_t id, const operations::Result<operations::Arguments>& in);
  void begin_events(Self self, const Responder& respond, const operations::Arguments& in);
  void begin_tree(Self self, const Responder& respond, const operations::Arguments& in);
  void cancel(const Responder& respond, const operations::Arguments& in);
  void pump_events(Self self, std::uint64_t id);
  void send_tree(Self self, std::uint64_t id);
  void end_streams(const operations::Error& why);
  void watch_standing(Self self);
  void on_answer(Self self, Answer& answer);
  void put(std::uint64_t id, std::string_view kind, const json::value& value);
  void write_some();
  void rearm(Self self);
  [[nodiscard]] bool may_read() const;
  // So much waits for the client that nothing more is read from it.
  [[nodiscard]] bool is_full() const;
  // Of MCP, that came and were not taken because of what was unsent.
  [[nodiscard]] bool has_held_lines() const;
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] std::size_t line_bytes_max() const;
  [[nodiscard]] std::size_t unsent() const { return wire_.unsent(); }

  std::shared_ptr<const ConnectionSetup> setup_;
  net::Wire wire_;
  std::uint32_t under_way_ = 0;
  std::map<std::uint64_t, Stream> streams_;
  std::unique_ptr<mcp::LineSession> mcp_;  // once the client has asked for it
  Instant active_at_{};
  std::uint32_t version_ = k_protocol_version;        // that the client speaks
  std::map<std::uint64_t, std::string> first_forms_;  // requests under way whose answer goes out as in version 1
  operations::PrincipalPtr who_;                      // null: an agent that has not shown its token
  bool said_hello_ = false;
  bool is_watching_standing_ = false;
  bool is_closed_by_client_ = false;
  bool is_ending_ = false;  // when everything is written
};

}  // namespace skein::inline v0::control
