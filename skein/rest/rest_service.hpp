// REST on HTTP: the service of one connection at /api/v1. Each request becomes an operation, by the table of
// operations; at /events it becomes a stream of server-sent events. Part of the process that serves the connection.
//
// Asked in this order, and refused by the first that says no: Host, Origin and the token, the path, the method, the
// token's rank, the media type, the query and the body, and then the operation itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/mcp/http_gate.hpp"
#include "skein/net/http_connection.hpp"
#include "skein/operations/methods.hpp"
#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {

// Calls of other services of the connection have smaller numbers.
inline constexpr std::uint64_t k_first_rest_call = 1ULL << 62U;

struct RestSetup {
  Runtime* runtime = nullptr;
  std::shared_ptr<operations::NodeHooks> hooks;
  mcp::HttpGate gate;
};

class RestService final : public net::HttpService {
 public:
  RestService(std::shared_ptr<const RestSetup> setup, net::HttpAnswers& answers)
      : setup_(std::move(setup)), answers_(answers) {}
  ~RestService() override { give_up_wait(); }
  RestService(const RestService&) = delete;
  RestService& operator=(const RestService&) = delete;

  std::optional<net::HttpResponse> on_head(Self self, const net::HttpRequest& head) override;
  Async<void> on_request(Self self, net::HttpRequest request) override;
  void on_message(Self self, Message& message) override { (void)take(self, message); }
  void on_client_gone(Self self) override;
  void on_shutdown(Self self) override;
  void on_drained(Self self) override;

  // False: the message is another service's.
  bool take(Self self, Message& message);

 private:
  struct EventsReady {
    std::uint64_t stream = 0;
  };
  struct StandingCheck {  // of the token that a stream was begun with
    std::uint64_t stream = 0;
  };

  void begin(Self self, const net::HttpRequest& request);
  void ask(Self self, std::string_view op, const json::object& params);
  void give_up_wait();
  void on_answer(operations::Answer& answer);
  void answer(int status, const json::value& value);
  void refuse(const operations::Error& error);
  void fail(json::value error);
  void fail(net::HttpResponse response);

  // rest_events.cpp
  void begin_events(Self self, const net::HttpRequest& request, const json::object& params);
  void pump_events(Self self);
  void watch_standing(Self self);
  // The token works no longer: the stream ends with an event that says so.
  void expel();
  void end_events();

  std::shared_ptr<const RestSetup> setup_;
  net::HttpAnswers& answers_;
  operations::PrincipalPtr who_;                  // of the request that is being answered
  const Operation* route_ = nullptr;              // of the request that is being answered
  std::uint64_t call_ = 0;                        // the number of what was asked last
  std::shared_ptr<operations::WaitTicket> wait_;  // of a wait that is not answered
  std::shared_ptr<operations::Operations> ops_;   // keeps the event stream alive; let go when it must end
  std::unique_ptr<operations::EventStream::Subscription> events_;
  bool is_held_back_ = false;  // there are events, and no room
};

// The HTTP status of an operation's error.
[[nodiscard]] int status_of(std::string_view code);

}  // namespace skein::inline v0::rest
