// What `skein mcp` knows of its client, so that the client's session outlives the node: requests that are not answered,
// and what a new node must be told. Pure: lines go in and out, the time is handed in. One thread.
//
// 1. Every request is answered once: by the node, or with an error that says what to do. A request under way when the
//    node ends is answered at once ("call again"). A request that comes while there is no node waits for one, at most
//    k_bridge_wait, and is then answered with the reason why there is none. It is answered at once where waiting does
//    not help, as with a revoked token. A call that a stopping node has not taken waits for the next one likewise, and
//    is answered with that node's refusal when none comes.
// 2. When a node is back, the session is set up again: initialize, log level and subscriptions of a legacy client,
//    subscriptions/listen of a modern one. The client does not see this; it is told that what it subscribed to may have
//    changed.
// 3. A client's answer to a question of a node that has ended is dropped.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/message_glance.hpp"

namespace skein::inline v0::mcp {

inline constexpr Duration k_bridge_wait = std::chrono::seconds(20);          // of a request, for a node to be there
inline constexpr std::size_t k_bridge_requests_max = 1000;                   // that wait for a node
inline constexpr std::size_t k_bridge_bytes_max = 16ULL << 20U;              // of them together
inline constexpr std::size_t k_bridge_remembered_bytes_max = 256ULL << 10U;  // of one message that is told again
inline constexpr std::size_t k_bridge_subscriptions_max = 1000;              // resources that are subscribed again

class Bridge {
 public:
  // A line from the client, without its end.
  void from_client(std::string_view line, Instant now);
  // A line that was too long to be kept; `seen` has gone over it.
  void too_long(const MessageGlance& seen);
  void from_node(std::string_view line);

  // There is a node from here on; what waited goes to it.
  void connected();
  // There is none, and `why`: what is wrong and what to do. Also when that has changed. `is_final`: trying again as it
  // is will not help.
  void disconnected(std::string why, Instant now, bool is_final = false);
  // The reason that the node gave when it closed the connection, for the requests that it has not answered.
  void closing(std::string reason) { closing_ = std::move(reason); }
  // Answers requests that have waited long enough.
  void on_time(Instant now);
  // When on_time() has something to do; nothing: not before something else happens.
  [[nodiscard]] std::optional<Instant> due() const;

  // The lines to send; they are removed from here.
  [[nodiscard]] std::vector<std::string> take_for_client() { return std::exchange(to_client_, {}); }
  [[nodiscard]] std::vector<std::string> take_for_node() { return std::exchange(to_node_, {}); }

  // Requests that will be answered; listens are not, they go on.
  [[nodiscard]] std::size_t owed() const;
  // The requests among them that the node has to answer.
  [[nodiscard]] std::size_t under_way() const;
  [[nodiscard]] bool is_connected() const { return is_connected_; }

 private:
  struct Request {
    json::value id{};
    std::string method{};
    std::string line{};         // kept of what may have to be sent again
    std::string refusal{};      // of a stopping node, which has not taken it
    Instant until{};            // waits for a node no longer
    bool is_sent = false;       // to the node of now
    bool is_again = false;      // a listen that the client knows is acknowledged
    std::uint32_t doubles = 0;  // of the same id, which the node refuses
  };
  struct Held {
    std::string key;  // of its request
    std::string line;
    Instant until{};
  };
  struct Replayed {
    std::string uri{};  // of a subscription; empty: something else
  };

  void on_request(const MessageGlance& seen, std::string_view line, Instant now);
  void on_batch(std::string_view line);
  void on_notification(const std::string& method, std::string_view line);
  void on_answer(const std::string& key, bool is_error);
  [[nodiscard]] bool is_left_to_the_next_node(const std::string& key, std::string_view line);
  [[nodiscard]] bool is_swallowed(const MessageGlance& seen, const std::string& key, std::string_view line);
  [[nodiscard]] bool is_acknowledged_again(std::string_view line);
  void hold(const std::string& key, std::string_view line);
  [[nodiscard]] bool may_hold(std::string_view line) const;
  void remember(const Request& request);
  void replay();
  void replay_request(std::string_view method, json::object params, std::string uri = {});
  void tell_changed(const std::string& uri, const json::value& subscription);
  void answer(const json::value& id, std::string_view why);
  void answer_held();

  bool is_connected_ = false;
  bool is_refused_ = false;  // there is no node, and waiting for one does not help
  std::string closing_{};    // why the node closed the connection, if it said so
  std::string why_ = "no node is running yet";
  std::map<std::string, Request> requests_;  // not answered, by id as JSON text
  std::deque<Held> held_;                    // in their order
  std::size_t held_bytes_ = 0;
  std::set<std::string> asked_by_node_;       // its questions that the client has not answered
  std::map<std::string, Replayed> replayed_;  // requests of ours that the node has not answered
  std::set<std::string> acknowledged_again_;  // listens whose acknowledgement the client has had
  std::optional<json::object> session_;       // params of the initialize that was answered
  bool is_initialized_ = false;               // and the client has said so
  std::optional<json::object> level_;         // params of the last logging/setLevel
  std::set<std::string> subscriptions_;
  std::uint64_t last_number_ = 0;
  std::vector<std::string> to_client_;
  std::vector<std::string> to_node_;
};

}  // namespace skein::inline v0::mcp
