// MCP where a message is a line: on the Unix socket (and so on stdio) and on TCP. Part of the process that serves the
// connection, which reads lines and hands them over; answers go to its Wire.
#pragma once

#include <string>
#include <string_view>

#include "skein/mcp/server.hpp"
#include "skein/net/wire.hpp"

namespace skein::inline v0::mcp {

class LineSession final : private Driver::Sink {
 public:
  LineSession(Self self, ServerPtr server, operations::PrincipalPtr who, net::Wire& wire)
      : wire_(wire), driver_(self, std::move(server), std::move(who), *this) {}

  void act_for(operations::PrincipalPtr who) { driver_.core().act_for(std::move(who)); }
  // False: the token that was shown works no longer. From watch_standing() on it is also found out when nobody asks.
  [[nodiscard]] bool is_welcome() const { return driver_.core().who()->holds(); }
  void watch_standing() { driver_.watch_standing(); }
  [[nodiscard]] std::string why_unwelcome() const {
    return operations::no_longer_valid(*driver_.core().who()).describe();
  }

  void on_line(std::string_view line);
  // A line that is longer than a message may be, as far as it has come: said, and then the connection ends.
  void on_long_line(std::string_view beginning);
  // False: the message is not for MCP.
  bool take(Message& message) { return driver_.take(message); }
  void shut_down() { driver_.core().shut_down(); }
  // Requests that will still be answered when the client has closed its side; listens will not.
  [[nodiscard]] bool is_owed_answers() { return driver_.core().under_way() > driver_.core().listening(); }
  // Nothing is under way, and nobody listens.
  [[nodiscard]] bool is_quiet() const { return driver_.core().under_way() == 0; }

 private:
  void send(StreamId to, json::object message, Outlet::Then then, int status) override;
  void send_batch(StreamId to, std::vector<json::object> answers) override;
  void end(StreamId) override {}
  void let_go(StreamId) override {}

  net::Wire& wire_;
  Driver driver_;
};

}  // namespace skein::inline v0::mcp
