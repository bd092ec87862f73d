// What the core of MCP needs from a transport: to send, to ask the node, to be woken. A transport implements it;
// tests write down what was asked. All of it is called on the thread that called the core, and must not call back into
// it.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/net/http_status.hpp"

namespace skein::inline v0::mcp {

// Where a message came from and what belongs to it goes: on HTTP a request's response, elsewhere the one connection.
using StreamId = std::uint64_t;
inline constexpr StreamId k_own_stream = 0;  // what belongs to no request

// A change that any client of a node may want to know of.
struct Change {
  enum class Kind : std::uint8_t { tools, prompts, resources, resource, task };
  Kind kind = Kind::resource;
  std::string uri{};  // of a resource that has changed, or the id of a task
};

class Outlet {
 public:
  enum class Then : std::uint8_t { more, end };

  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  // `end`: nothing else comes on this stream. `status` is for HTTP, when the first message is also the last.
  virtual void send(StreamId to, boost::json::object message, Then then, int status) = 0;
  // The answers to a batch, with which the stream ends. As one array where the transport can, else one by one.
  virtual void send_batch(StreamId to, std::vector<boost::json::object> answers) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      send(to, std::move(answers[i]), i + 1 < answers.size() ? Then::more : Then::end, net::http_status::k_ok);
    }
  }
  // Nothing comes (any more) on this stream: a notification was taken in, or a request was cancelled.
  virtual void end(StreamId stream) = 0;
  // The client may fetch the rest of this stream later; the connection that carries it now need not wait.
  virtual void let_go(StreamId stream) = 0;
  // McpCore::answered() is called with the same number, for parts and at the end.
  virtual void ask_node(std::uint64_t call, std::string_view op, boost::json::object params) = 0;
  // Likewise: whether the token that was shown still works, see operations::check_standing().
  virtual void ask_standing(std::uint64_t call) = 0;
  // Nobody wants this answer any more; it may still arrive.
  virtual void give_up(std::uint64_t /*call*/) {}
  // McpCore::woken() is called with the same number.
  virtual void wake_after(std::uint64_t timer, std::chrono::milliseconds time) = 0;
  // What McpCore::changed() is to be called for from now on. `lists`: not for single resources.
  enum class Watch : std::uint8_t { nothing, lists, everything };
  virtual void watch(Watch what) = 0;
  // To every client of the node, this one too.
  virtual void announce(const Change& change) = 0;
};

}  // namespace skein::inline v0::mcp
