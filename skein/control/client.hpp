// The other end of the Unix socket, for the CLI: asks a node and waits. One thread at a time; it may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "skein/base/fd.hpp"

namespace skein::inline v0::control {

struct ClientError {
  enum class Kind { unreachable, timeout, refused };
  Kind kind = Kind::unreachable;
  std::string code{};  // of refused: an operation's code
  std::string message{};
  std::string advice{};
  std::uint64_t retry_after_ms = 0;
};

template <class T>
using ClientResult = std::expected<T, ClientError>;

class Client {
 public:
  static constexpr std::chrono::seconds k_timeout{60};

  // Connects to the socket in this data folder and says hello, with the token in SKEIN_TOKEN if there is one; both
  // within `timeout`, or 10 s if that is less.
  [[nodiscard]] static ClientResult<Client> connect(const std::string& data,
                                                    std::chrono::milliseconds timeout = k_timeout);

  // Asks and waits for the answer, again while the node's engine is away for a moment; parts on the way go to
  // `on_part`, which ends it by returning false.
  using PartFn = std::function<bool(const boost::json::value& part)>;
  [[nodiscard]] ClientResult<boost::json::value> ask(std::string_view op, const boost::json::object& params,
                                                     std::chrono::milliseconds timeout = k_timeout,
                                                     const PartFn& on_part = {});

  // Pipelining: send() puts a request on its way, next() gives the next whole answer to any of them.
  [[nodiscard]] ClientResult<std::uint64_t> send(std::string_view op, const boost::json::object& params);
  struct Answered {
    std::uint64_t id = 0;
    ClientResult<boost::json::value> result;
  };
  [[nodiscard]] ClientResult<Answered> next(std::chrono::milliseconds timeout = k_timeout);
  [[nodiscard]] ClientResult<void> flush();

  // The connection itself, for what is no longer asked and answered.
  [[nodiscard]] Fd release() && { return std::move(fd_); }

  // What the node said in its hello.
  [[nodiscard]] const boost::json::object& node() const { return node_; }

 private:
  [[nodiscard]] ClientResult<boost::json::value> ask_once(std::string_view op, const boost::json::object& params,
                                                          std::chrono::milliseconds timeout, const PartFn& on_part);
  explicit Client(Fd fd) : fd_(std::move(fd)) {}
  struct Line {
    std::uint64_t id = 0;
    bool is_part = false;
    ClientResult<boost::json::value> result;
  };
  [[nodiscard]] ClientResult<Line> read_line(std::chrono::steady_clock::time_point until);
  [[nodiscard]] ClientResult<void> fill(std::chrono::steady_clock::time_point until);

  Fd fd_;
  std::string in_;
  std::size_t in_at_ = 0;
  std::string out_;
  std::uint64_t last_id_ = 0;
  boost::json::object node_;
};

}  // namespace skein::inline v0::control
