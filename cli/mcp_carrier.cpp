#include "cli/mcp_carrier.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <utility>

#include "cli/session.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration k_reconnect_first = 50ms;
constexpr Duration k_reconnect_max = 2s;
constexpr Duration k_reconnect_refused = 10s;  // after an answer that trying again does not change
constexpr Duration k_goodbye_limit = 5s;       // for a node to close after the client has
constexpr std::size_t k_carrier_read_bytes = 64ULL << 10U;
constexpr std::size_t k_carrier_unsent_max = 4ULL << 20U;
constexpr std::uint64_t k_polls_between_signals = 64;  // at most, however busy the client is

Instant instant_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant(std::chrono::duration_cast<Duration>(since));
}

short if_wanted(bool is_wanted, short what) { return static_cast<short>(is_wanted ? what : 0); }

}  // namespace

// Signals are closed, except within its poll and while it is open, so that none comes between a look and the wait. It
// stays closed from turn to turn: opening it for each would be two system calls more.
class SignalGate {
 public:
  SignalGate() {
    sigset_t signals{};
    sigemptyset(&signals);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, each);
    ::sigprocmask(SIG_BLOCK, &signals, &before_);
    closed_ = before_;
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&closed_, each);
  }
  ~SignalGate() { open(); }
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  void open() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  void close() const { ::sigprocmask(SIG_SETMASK, &closed_, nullptr); }

  int poll(pollfd* all, std::size_t count, int timeout_ms) {
    // A poll that finds something at once lets no signal through.
    if (++polls_ % k_polls_between_signals == 0) {
      open();
      close();
    }
    const timespec time{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
    return ::ppoll(all, count, timeout_ms < 0 ? nullptr : &time, &before_);
  }

 private:
  sigset_t before_{};
  sigset_t closed_{};
  std::uint64_t polls_ = 0;
};

int Carrier::run() {
  std::signal(SIGPIPE, SIG_IGN);
  pause_ = k_reconnect_first;
  read_.resize(k_carrier_read_bytes);
  SignalGate gate;
  while (true) {
    if (!link_ && instant_now() >= next_try_) {
      gate.open();  // it may take seconds, and start a node
      try_connect();
      gate.close();
    }
    if (bridge_.due()) bridge_.on_time(instant_now());
    if (!pump()) return k_exit_ok;
    finish_if_due();
    if (is_done()) return exit_code();
    if (!serve(gate)) return k_exit_ok;
  }
}

void Carrier::try_connect() {
  const bool has_asked = std::exchange(has_asked_, false);
  was_wanted_ = !std::exchange(has_tried_, true) || has_asked || bridge_.owed() > 0;
  auto made = connect_(was_wanted_);
  const Instant now = instant_now();
  if (made) {
    link_ = std::move(*made);
    if (std::exchange(was_connected_, true)) say("the node is running again");
    pause_ = k_reconnect_first;
    is_finished_ = false;
    bridge_.connected();
    return;
  }
  no_link_ = std::move(made.error());
  say(no_link_.why);
  bridge_.disconnected(no_link_.why, now, no_link_.is_final);
  next_try_ = later(now, no_link_.is_final ? k_reconnect_refused : pause_);
  pause_ = std::min(pause_ * 2, k_reconnect_max);
}

// A client keeps what its servers say on standard error, and shows it when something is wrong. Once each.
void Carrier::say(const std::string& what) {
  if (what == said_) return;
  said_ = what;
  fmt::print(stderr, "skein: {}\n", what);
}

void Carrier::on_gone() {
  const std::string why = link_->why_closed();
  link_.reset();
  bridge_.closing(why);
  was_interrupted_ = is_input_over_ && bridge_.under_way() > 0;
  bridge_.disconnected("the node has stopped, and nobody has started it again", instant_now());
  if (!is_input_over_) {
    say(why.empty() ? "the node closed the connection; trying to connect again"
                    : fmt::format("the node closed the connection: {}", why));
  }
  next_try_ = later(instant_now(), k_reconnect_first);
}

bool Carrier::pump() {
  for (const std::string& each : bridge_.take_for_client()) {
    out_ += each;
    out_ += '\n';
  }
  if (!write_output_now()) return false;
  if (!link_) return true;
  for (const std::string& each : bridge_.take_for_node()) link_->put(each);
  if (!link_->write_some()) read_node();  // why may be in what it has said
  return true;
}

void Carrier::finish_if_due() {
  if (!link_ || !is_input_over_ || is_finished_ || link_->unsent() > 0) return;
  if (!link_->answers_after_finish() && bridge_.owed() > 0) return;
  link_->finish();
  is_finished_ = true;
  finish_until_ = later(instant_now(), k_goodbye_limit);
}

bool Carrier::is_done() const {
  const bool is_said = out_.empty();
  if (!is_input_over_ || !is_said) return false;
  if (link_) return is_finished_ && bridge_.owed() == 0 && instant_now() >= finish_until_;
  return bridge_.owed() == 0;
}

int Carrier::exit_code() const {
  if (was_interrupted_) return complain(k_exit_unreachable, "the node stopped before it had answered everything");
  if (was_connected_) return k_exit_ok;
  return said_ == no_link_.why ? no_link_.code : complain(no_link_.code, no_link_.why);
}

int Carrier::wait_ms() const {
  std::optional<Instant> until = bridge_.due();
  const auto no_later_than = [&](Instant at) { until = until ? std::min(*until, at) : at; };
  if (!link_) no_later_than(next_try_);
  // What is still owed comes when it comes.
  if (link_ && is_finished_ && bridge_.owed() == 0) no_later_than(finish_until_);
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(between(instant_now(), *until)).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

bool Carrier::serve(SignalGate& gate) {
  const bool is_full = out_.size() - out_at_ >= k_carrier_unsent_max;
  const bool reads_input = !is_input_over_ && !is_full && (!link_ || link_->unsent() < k_carrier_unsent_max);
  const auto of_node =
      static_cast<short>(if_wanted(!is_full, POLLIN) | if_wanted(link_ && link_->unsent() > 0, POLLOUT));
  std::array<pollfd, 3> all{{{reads_input ? STDIN_FILENO : -1, POLLIN, 0},
                             {link_ && of_node != 0 ? link_->fd() : -1, of_node, 0},
                             {out_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}}};
  patience_.check("serving");
  if (gate.poll(all.data(), all.size(), wait_ms()) < 0) return errno == EINTR;
  if (all[2].revents != 0 && !write_output()) return false;
  // First, so that what the client asks now is not given to a node that is gone.
  if (link_ && (all[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_node();
  if (all[0].revents != 0) read_input();
  if (!link_ && !was_wanted_ && bridge_.owed() > 0) next_try_ = instant_now();  // now it may be started
  return true;
}

void Carrier::read_input() {
  const auto got = ::read(STDIN_FILENO, read_.data(), read_.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    is_input_over_ = true;  // half a line is no message
    return;
  }
  take_input({read_.data(), static_cast<std::size_t>(got)});
}

void Carrier::take_input(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (is_too_long_) {
      too_long_.feed(part);
    } else {
      in_ += part;
    }
    if (in_.size() > mcp::k_message_bytes_max) {
      is_too_long_ = true;
      too_long_.feed(in_);
      in_.clear();
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    end_line();
  }
}

void Carrier::end_line() {
  if (std::exchange(is_too_long_, false)) {
    bridge_.too_long(too_long_);
    too_long_.reset();
    return;
  }
  std::string_view line = in_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) {
    // When a node refuses the bridge it answers at once and owes nothing, but the next try is still wanted.
    has_asked_ = has_asked_ || (!link_ && no_link_.is_final);
    bridge_.from_client(line, instant_now());
  }
  in_.clear();
}

// So much at a time that a pipe with room does not block.
bool Carrier::write_output() {
  const std::size_t bytes = std::min<std::size_t>(out_.size() - out_at_, PIPE_BUF);
  ssize_t sent = -1;
  if (is_out_socket_) {
    sent = ::send(STDOUT_FILENO, out_.data() + out_at_, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK) {
      is_out_socket_ = false;  // a pipe is looked at before it is written to
      return true;
    }
  } else {
    sent = ::write(STDOUT_FILENO, out_.data() + out_at_, bytes);
  }
  if (sent < 0) return errno == EINTR || errno == EAGAIN;
  out_at_ += static_cast<std::size_t>(sent);
  if (out_at_ == out_.size()) {
    out_.clear();
    out_at_ = 0;
  } else if (out_at_ >= k_carrier_unsent_max) {
    out_.erase(0, out_at_);
    out_at_ = 0;
  }
  return true;
}

// An answer goes without a turn of the loop in between where the client takes it at once.
bool Carrier::write_output_now() {
  if (out_.empty()) return true;
  pollfd client{STDOUT_FILENO, POLLOUT, 0};
  if (!is_out_socket_ && ::poll(&client, 1, 0) != 1) return true;
  return write_output();
}

void Carrier::read_node() {
  std::vector<std::string> messages;
  const bool is_there = link_->read_some(messages);
  for (const std::string& each : messages) {
    if (!each.empty()) bridge_.from_node(each);
  }
  if (!is_there) on_gone();
}

}  // namespace skein::cli
