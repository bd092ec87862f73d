// A legacy session on HTTP: a process between the connections of one client, which come and go. It has the McpCore, and
// of each stream what a client may come back for.
//
// Its id says what the session is, sealed with the node's key: a node that was restarted, or a session that was idle
// for long, goes on as it was when the client shows the id again. What is lost then are subscriptions and the log
// level. A client that comes back for the answer to a request of before is told to call again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "skein/mcp/event_id.hpp"
#include "skein/mcp/server.hpp"
#include "skein/net/http_status.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::string_view k_sessions_name = "mcp_sessions";  // the pool's registered name
inline constexpr std::size_t k_sessions_max = 10'000;                // at once; then initialize is refused
inline constexpr std::size_t k_ended_sessions_max = 10'000;          // remembered as ended by their clients
inline constexpr std::size_t k_kept_streams_max = 16;                // of one session, that a client may come back for
inline constexpr std::size_t k_kept_events_max = 256;                // of one stream

[[nodiscard]] std::string session_id(const Sealer& sealer, const LegacySession& session, std::uint64_t nonce);
[[nodiscard]] std::optional<LegacySession> session_of(const Sealer& sealer, const std::string& id);

// Which process has which session. Any thread.
class SessionTable {
 public:
  // Nobody when no process has it, or another's has.
  [[nodiscard]] Pid find(const std::string& id, const operations::Principal& who) const;
  // False: another process has the session, or there are too many. Only a client with the label `who` can find it.
  bool claim(const std::string& id, Pid pid, std::string who);
  void leave(const std::string& id, Pid pid);
  // The client has ended it: it never comes back.
  void end(const std::string& id);
  [[nodiscard]] bool has_ended(const std::string& id) const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  struct Held {
    Pid pid;
    std::string who;
  };
  std::unordered_map<std::string, Held> sessions_;
  std::set<std::string> ended_;
  std::deque<std::string> ended_order_;
};

// From a connection to a session. `exchange` is the connection's number for what it asked.
struct SessionPost {
  Pid connection;
  std::uint64_t exchange = 0;
  operations::PrincipalPtr who;
  std::unique_ptr<RpcMessage> message;
  std::unique_ptr<std::string> batch{};  // instead of a message
};
struct SessionListen {
  Pid connection;
  std::uint64_t exchange = 0;
  operations::PrincipalPtr who;
  std::unique_ptr<std::string> last_event;  // null: it listens to what belongs to no request
};
struct SessionGone {
  Pid connection;
  std::uint64_t exchange = 0;
};
struct SessionEnd {};

// From a session to a connection.
struct SessionEvent {
  // `refused`: there is no such stream, or, with a text, the client may not have it.
  enum class Kind : std::uint8_t { message, last_message, end, let_go, refused };
  std::uint64_t exchange = 0;
  Kind kind = Kind::message;
  int status = net::http_status::k_ok;
  std::uint64_t stamp = 0;  // of the session's process
  std::uint64_t stream = 0;
  std::uint64_t number = 0;  // of the event on its stream; without a text, of the last one the client is to have seen
  bool primes = false;       // the version has it that a stream begins with an event that says nothing
  std::shared_ptr<const std::string> text{};
  std::shared_ptr<const std::string> ending{};  // of its id, see event_id.hpp; null: none
};

struct SessionSetup {
  ServerPtr server;
  std::shared_ptr<SessionTable> table;
};

class HttpSession final : private Driver::Sink {
 public:
  HttpSession(Self self, std::shared_ptr<const SessionSetup> setup, std::shared_ptr<const std::string> id);
  ~HttpSession() override;
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  Init init(Self self);
  void handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Kept {
    std::uint64_t number = 0;
    bool is_last = false;
    std::shared_ptr<const std::string> text;
  };
  struct Stream {
    Pid connection{};  // nobody: the client has left it
    std::uint64_t exchange = 0;
    std::uint64_t sent = 0;
    bool is_over = false;
    std::shared_ptr<const std::string> ending{};  // of the ids of its events; null: it is of no request
    std::deque<Kept> kept{};
  };
  struct IdleCheck {};
  struct ListenChecked {  // whether the attempt runs whose token listens
    std::shared_ptr<const SessionListen> listen;
    std::shared_ptr<const std::string> refusal{};  // null: it does
  };

  void send(StreamId to, json::object message, Outlet::Then then, int status) override;
  void end(StreamId stream) override;
  void let_go(StreamId stream) override;
  void expelled(const operations::Error& why) override;

  void on_post(SessionPost& post);
  void on_listen(const SessionListen& listen);
  void check_listener(SessionListen listen);
  void on_checked(const ListenChecked& checked);
  // The stream of a request that this process does not have.
  void answer_lost(const SessionListen& listen, const EventId& event);
  void on_gone(const SessionGone& gone);
  // `after`: the last event that was seen.
  void attach(StreamId id, Stream& stream, Pid connection, std::uint64_t exchange, std::uint64_t after);
  void tell(const Stream& stream, SessionEvent event);
  void forget_old_streams();

  std::shared_ptr<const SessionSetup> setup_;
  std::shared_ptr<const std::string> id_;
  Self self_;
  Driver driver_;
  const std::uint64_t stamp_;  // in the ids of events: each process of the session counts its streams from scratch
  std::map<StreamId, Stream> streams_;
  StreamId last_stream_ = k_own_stream;
  Instant active_at_{};
  bool is_claimed_ = false;
};

// The template of their pool.
[[nodiscard]] ChildSpec session_template(std::shared_ptr<const SessionSetup> setup);

}  // namespace skein::inline v0::mcp
