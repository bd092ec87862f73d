// What a client that waits for a task is told meanwhile. Pure; one thread.
//
// The agent's last mark is the message. A mark with numbers for how far it is, such as {"step":3,"of":6}, gives
// progress and total too. Progress always rises, as the protocol asks, also when nothing is known and when an agent
// starts from scratch: each mark that has no higher number of its own adds a thousandth.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

namespace skein::inline v0::mcp {

class TaskProgress {
 public:
  struct Word {
    double progress = 0;
    std::optional<double> total{};
    std::string message{};
  };
  // The agent has said where it is.
  [[nodiscard]] Word on_mark(const boost::json::value& mark);
  // Time has passed: a client that counts idle time hears something before it gives up.
  [[nodiscard]] Word on_time();

 private:
  [[nodiscard]] Word word(std::optional<double> done);

  double last_ = 0;
  std::optional<double> total_;
  std::string message_ = "the task is not finished yet";
};

}  // namespace skein::inline v0::mcp
