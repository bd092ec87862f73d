// One MCP client on TCP, where a message is a line: a process that reads lines, hands them to a LineSession and writes
// what it answers.
//
// Where a token is wanted the first line shows it: {"token":"..."}. The right one is not answered, so a client goes on
// at once; a wrong one, that of an attempt that has ended, or anything else, is told so in an error and closed. So is
// a client whose token stops working. Where none is wanted such a line is passed
// over, so that a client need not know; a first line that is no JSON, as of HTTP, is refused like a wrong token.
//
// 1. Nothing blocks, and nothing grows past LineLimits: a client that does not show its token, does not end its line,
//    does not read or says nothing for long is closed. From a client that does not read, nothing more is read.
// 2. A client that closed its side still gets its answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "skein/mcp/line_session.hpp"
#include "skein/mcp/login.hpp"
#include "skein/net/wire.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::size_t k_login_bytes_max = 4096;  // of the line that shows the token

struct LineLimits {
  Duration login = std::chrono::seconds(10);    // until the token is shown
  Duration receive = std::chrono::seconds(30);  // from the first byte of a line to its last
  Duration stalled = std::chrono::seconds(30);  // with bytes to write and none taken
  Duration idle = std::chrono::hours(1);        // with nothing under way
  std::size_t output_bytes = 16ULL << 20U;      // not taken by a client that is sent more: then it is closed
};

struct LineSetup {
  ServerPtr server;
  std::shared_ptr<net::FdPoller> poller;
  std::shared_ptr<Login> login;
  LineLimits limits;
  std::shared_ptr<std::atomic<std::uint32_t>> open;  // connections now
};

class LineConnection {
 public:
  LineConnection(Self self, std::shared_ptr<const LineSetup> setup, net::ClientPtr client);
  ~LineConnection();
  LineConnection(const LineConnection&) = delete;
  LineConnection& operator=(const LineConnection&) = delete;

  void handle_info(Self self, Message message);
  void terminate(Self self, const ExitReason& reason);
  [[nodiscard]] std::string describe() const;

 private:
  enum class Stage : std::uint8_t { login, checking, open, ending, lingering, over };
  struct Check {};
  struct LingerOver {};
  struct Checked {                                 // whether the attempt runs whose token was shown
    std::shared_ptr<const std::string> refusal{};  // null: it does
  };

  void on_ready(Self self, const net::FdReady& ready);
  void read_some(Self self);
  // Discards what a client still sends after it was told why it is closed. False: it has closed.
  bool discard_some();
  // True: stopped because of what is unsent, with whole lines left.
  bool take_lines(Self self);
  void on_line(Self self, std::string_view line);
  void log_in(Self self, std::string_view line);
  void on_first_line(std::string_view line);
  void open();
  // Of the token of an attempt, which may have ended: nothing is read until the ledger has said.
  void check_attempt(Self self, const operations::Principal& who);
  void refuse(std::string_view why);
  void write_some(Self self);
  void linger(Self self);
  void on_check(Self self);
  // So much waits for the client that nothing more is read from it.
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] bool takes_lines() const { return stage_ == Stage::login || stage_ == Stage::open; }
  [[nodiscard]] std::size_t line_bytes_max() const;

  std::shared_ptr<const LineSetup> setup_;
  net::Wire wire_;
  LineSession session_;
  Stage stage_ = Stage::login;
  std::size_t searched_ = 0;  // of what came: no line ends there
  bool is_closed_by_client_ = false;
  Instant began_{};
  Instant active_at_{};
  Instant line_began_{};  // while a part of one is there
  Instant sent_at_{};     // when the client last took something, or had taken everything
  std::size_t left_ = 0;  // of what was to be written, when it was last tried
};

// The template of their pool.
[[nodiscard]] ChildSpec line_connection_template(std::shared_ptr<const LineSetup> setup);
// A line that says why nothing else comes.
[[nodiscard]] std::string line_error(std::string_view why);

}  // namespace skein::inline v0::mcp
