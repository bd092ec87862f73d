#include "skein/mcp/line_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "skein/operations/json_forms.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_line_unsent_at_most = 256ULL << 10U;
constexpr std::size_t k_line_reads_at_once = 8;              // then others get their turn
constexpr std::size_t k_login_depth = 4;                     // of the line that shows the token
constexpr Duration k_line_linger = std::chrono::seconds(1);  // for the client to read why it is closed
constexpr Duration k_line_shutdown = std::chrono::seconds(30);
constexpr Duration k_line_check_at_least = std::chrono::milliseconds(250);
constexpr Duration k_line_check_at_most = std::chrono::seconds(5);
constexpr std::string_view k_token_missing =
    R"(the token is missing: send {"token":"..."} as the first line; the file 'token' in the data folder has one)";
constexpr std::string_view k_token_unknown =
    "the token is unknown here: it was revoked or replaced, has expired, or belongs to another node; 'skein token "
    "list' "
    "lists the tokens that work";

// A limit is noticed at most a quarter of it too late.
Duration line_check_every(const LineLimits& limits) {
  const Duration least = std::min({limits.login, limits.receive, limits.stalled, limits.idle});
  return std::clamp(least / 4, k_line_check_at_least, k_line_check_at_most);
}

// The token of a line that does nothing but show one.
std::optional<std::string> token_in(std::string_view line) {
  const auto value = parse_json(line, {k_login_bytes_max, k_login_depth});
  const json::object* object = value ? value->if_object() : nullptr;
  const json::string* token = object != nullptr && object->size() == 1 ? string_in(*object, "token") : nullptr;
  if (token == nullptr) return std::nullopt;
  return std::string(*token);
}

}  // namespace

std::string line_error(std::string_view why) {
  return operations::json_text(make_error(nullptr, {k_invalid_request, std::string(why), nullptr})) + "\n";
}

LineConnection::LineConnection(Self self, std::shared_ptr<const LineSetup> setup, net::ClientPtr client)
    : setup_(std::move(setup)),
      wire_(setup_->poller, std::move(client)),
      session_(self, setup_->server, operations::anyone(), wire_),
      began_(self.now()),
      active_at_(self.now()),
      line_began_(self.now()),
      sent_at_(self.now()) {
  self.trap_exit(true);  // to end gracefully, see terminate()
  self.send_after(line_check_every(setup_->limits), self.pid(), Check{});
  wire_.make_room_by(self.pid());
  wire_.arm(self.pid(), true);
}

LineConnection::~LineConnection() { setup_->open->fetch_sub(1); }

std::string LineConnection::describe() const {
  static constexpr const char* k_names[] = {"login", "checking", "open", "ending", "lingering", "over"};
  return fmt::format("{}, {} bytes unsent", k_names[static_cast<std::size_t>(stage_)], wire_.unsent());
}

// A client that listens is told that the connection ends.
void LineConnection::terminate(Self, const ExitReason&) {
  if (stage_ == Stage::open) session_.shut_down();
  (void)wire_.write_some();
}

void LineConnection::handle_info(Self self, Message message) {
  if (const auto* ready = message.get_if<net::FdReady>()) {
    on_ready(self, *ready);
  } else if (message.is<Check>()) {
    on_check(self);
  } else if (message.is<LingerOver>()) {
    stage_ = Stage::over;
  } else if (message.is<net::MakeRoom>()) {
    // At once: somebody else waits for the descriptor.
    if (stage_ == Stage::open) return;
    wire_.put(line_error("too many connections without a token; try again later"));
    (void)wire_.write_some();
    return self.stop();
  } else if (const auto* checked = message.get_if<Checked>()) {
    if (stage_ == Stage::checking && checked->refusal) refuse(*checked->refusal);
    if (stage_ == Stage::checking) open();
  } else {
    (void)session_.take(message);
    if (stage_ == Stage::open && !session_.is_welcome()) refuse(session_.why_unwelcome());
  }
  bool has_more = true;
  while (has_more) {
    has_more = take_lines(self);
    write_some(self);
    if (is_full()) break;
  }
  const bool is_done = is_closed_by_client_ && !has_more && !session_.is_owed_answers();
  if (stage_ == Stage::ending && wire_.unsent() == 0) linger(self);
  if (stage_ == Stage::over || (is_done && takes_lines() && wire_.unsent() == 0)) return self.stop();
  wire_.arm(self.pid(), !is_closed_by_client_ && (stage_ == Stage::lingering || (takes_lines() && !is_full())));
}

void LineConnection::on_ready(Self self, const net::FdReady& ready) {
  if (stage_ == Stage::lingering) {
    if (ready.is_broken || !discard_some()) stage_ = Stage::over;
  } else if (ready.is_readable && takes_lines() && !is_full()) {
    read_some(self);
  } else if (ready.is_broken) {
    stage_ = Stage::over;
  } else if (ready.has_ended) {
    wire_.note_end();  // it will send nothing more; what it sent is read when there is room for the answers
  }
}

bool LineConnection::discard_some() {
  for (std::size_t i = 0; i < k_line_reads_at_once; ++i) {
    const auto got = wire_.read_some();
    wire_.consume(wire_.in().size());
    if (got == net::Wire::Got::end) return false;
    if (got == net::Wire::Got::nothing) break;
  }
  return true;
}

void LineConnection::read_some(Self self) {
  for (std::size_t i = 0; i < k_line_reads_at_once; ++i) {
    const bool had_nothing = wire_.in().empty();
    const auto got = wire_.read_some();
    if (got == net::Wire::Got::nothing) break;
    if (got == net::Wire::Got::end) {
      is_closed_by_client_ = true;
      break;
    }
    active_at_ = self.now();
    if (had_nothing) line_began_ = active_at_;
    // More than a line may have is not taken in.
    if (wire_.in().size() > line_bytes_max() + net::k_read_bytes) break;
  }
}

bool LineConnection::is_full() const {
  return wire_.unsent() >= std::min(k_line_unsent_at_most, setup_->limits.output_bytes / 2);
}

std::size_t LineConnection::line_bytes_max() const {
  return stage_ == Stage::login && setup_->login->wants_token() ? k_login_bytes_max : k_message_bytes_max;
}

bool LineConnection::take_lines(Self self) {
  const std::string& in = wire_.in();
  std::size_t at = 0;
  std::size_t end = 0;
  while (takes_lines() && !is_full()) {
    end = in.find('\n', std::max(at, searched_));
    if (end == std::string::npos) searched_ = in.size();
    if (end == std::string::npos || end - at > line_bytes_max()) break;
    on_line(self, std::string_view(in).substr(at, end - at));
    at = end + 1;
  }
  wire_.consume(at);
  searched_ -= std::min(searched_, at);
  if (at > 0) line_began_ = self.now();
  if (!takes_lines()) return false;
  end = in.find('\n', searched_);
  if ((end == std::string::npos ? in.size() : end) <= line_bytes_max()) return end != std::string::npos;
  if (stage_ == Stage::login && setup_->login->wants_token()) {
    log_in(self, "");  // nobody shows a token so long
  } else {
    session_.on_long_line(in);
    stage_ = Stage::ending;
  }
  return false;
}

void LineConnection::on_line(Self self, std::string_view line) {
  if (stage_ == Stage::open) {
    if (!session_.is_welcome()) return refuse(session_.why_unwelcome());
    return session_.on_line(line);
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  log_in(self, line);
}

void LineConnection::log_in(Self self, std::string_view line) {
  const auto token = token_in(line);
  // A client that does not know that a token is wanted begins with a message: that is no guess.
  const bool is_wrong = !token && setup_->login->wants_token() && line.find("\"jsonrpc\"") == std::string_view::npos;
  Login::Admission admission =
      is_wrong ? setup_->login->wrong(self.now()) : setup_->login->check_token(token.value_or(""), self.now());
  switch (admission.verdict) {
    case Login::Verdict::good:
      session_.act_for(admission.who);
      if (token && admission.who->kind == operations::Principal::Kind::task) {
        check_attempt(self, *admission.who);
      } else if (token) {
        open();
      } else {
        on_first_line(line);  // no token is wanted here
      }
      return;
    case Login::Verdict::too_many:
      return refuse("too many wrong tokens; try again later");
    case Login::Verdict::missing:
      return refuse(k_token_missing);
    case Login::Verdict::bad:
      return refuse(token ? k_token_unknown : k_token_missing);
  }
}

// Without a token, what a web page makes a browser send must not be taken for messages: that begins with a line of
// HTTP, and the page has a say only after it.
void LineConnection::on_first_line(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t\r");
  if (at == std::string_view::npos) return;
  if (line[at] != '{' && line[at] != '[') return refuse("the first line is not a message");
  open();
  session_.on_line(line);
}

void LineConnection::open() {
  stage_ = Stage::open;
  wire_.trust();
  session_.watch_standing();
}

void LineConnection::check_attempt(Self self, const operations::Principal& who) {
  stage_ = Stage::checking;
  operations::Reply<std::string> then(
      [runtime = setup_->server->runtime, pid = self.pid()](operations::Result<std::string>&& found) {
        Checked checked;
        if (!found) checked.refusal = std::make_shared<const std::string>(found.error().describe());
        runtime->notify(pid, std::move(checked));
      });
  operations::check_standing(*setup_->server->hooks, who, std::move(then));
}

void LineConnection::refuse(std::string_view why) {
  wire_.put(line_error(why));
  stage_ = Stage::ending;
}

void LineConnection::write_some(Self self) {
  const std::size_t before = wire_.unsent();
  // A single answer may be of any length; nothing more may be added once too much is unsent.
  const bool is_too_much = left_ > setup_->limits.output_bytes && before > left_;
  const bool is_there = wire_.write_some();
  left_ = wire_.unsent();
  if (!is_there || (is_too_much && left_ > setup_->limits.output_bytes)) {
    wire_.drop_unsent();
    stage_ = Stage::over;
    return;
  }
  if (left_ < before || before == 0) sent_at_ = self.now();
}

// A socket that is closed with bytes unread takes back what was written: the client would not learn why.
void LineConnection::linger(Self self) {
  stage_ = is_closed_by_client_ ? Stage::over : Stage::lingering;
  if (stage_ == Stage::over) return;
  wire_.end_output();
  if (!discard_some()) stage_ = Stage::over;
  self.send_after(k_line_linger, self.pid(), LingerOver{});
}

void LineConnection::on_check(Self self) {
  const LineLimits& limits = setup_->limits;
  self.send_after(line_check_every(limits), self.pid(), Check{});
  const Instant now = self.now();
  if (wire_.unsent() > 0 && between(sent_at_, now) >= limits.stalled) {
    wire_.drop_unsent();
    stage_ = Stage::over;
  } else if (!takes_lines()) {
    return;
  } else if (stage_ == Stage::login && setup_->login->wants_token() && between(began_, now) >= limits.login) {
    refuse("no token was sent in time");
  } else if (!wire_.in().empty() && !is_full() && between(line_began_, now) >= limits.receive) {
    refuse("the line was not completed in time");
  } else if (session_.is_quiet() && between(active_at_, now) >= limits.idle) {
    stage_ = Stage::ending;
  }
}

ChildSpec line_connection_template(std::shared_ptr<const LineSetup> setup) {
  return pool_child<LineConnection, net::ClientPtr>("connection", std::move(setup))
      .with(Restart::temporary)
      .with(Shutdown::after(k_line_shutdown));
}

}  // namespace skein::inline v0::mcp
