#include "skein/net/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/net/http_status.hpp"

namespace skein::inline v0::net {
namespace {

constexpr std::size_t k_http_reads_at_once = 8;          // then others get their turn
constexpr std::size_t k_requests_at_once = 16;           // likewise, of those a client sent without waiting
constexpr std::size_t k_unsent_at_most = 256ULL << 10U;  // past that, the next request waits for the client to read
constexpr Duration k_check_at_least = std::chrono::milliseconds(250);
constexpr Duration k_check_at_most = std::chrono::seconds(5);
constexpr Duration k_linger = std::chrono::seconds(2);
constexpr std::string_view k_continue = "HTTP/1.1 100 Continue\r\n\r\n";

// A limit is noticed at most a quarter of it too late.
Duration check_every(const HttpConnectionLimits& limits) {
  const Duration least = std::min({limits.idle, limits.receive, limits.stalled});
  return std::clamp(least / 4, k_check_at_least, k_check_at_most);
}

}  // namespace

HttpConnection::HttpConnection(Self self, std::shared_ptr<const HttpSetup> setup, ClientPtr client)
    : self_(self),
      setup_(std::move(setup)),
      wire_(setup_->poller, std::move(client)),
      reader_(setup_->limits.request),
      service_(setup_->make_service(self, *this)),
      since_(self.now()),
      sent_at_(self.now()) {
  self.trap_exit(true);  // to end streams gracefully, see terminate()
  self.send_after(check_every(setup_->limits), self.pid(), Check{});
  wire_.make_room_by(self.pid());
  wire_.arm(self.pid(), true);
}

HttpConnection::~HttpConnection() { setup_->open->fetch_sub(1); }

std::string HttpConnection::describe() const {
  static constexpr const char* k_names[] = {"idle",     "receiving", "answering", "streaming",
                                            "upgraded", "ending",    "lingering"};
  return fmt::format("{}, {} bytes unsent", k_names[static_cast<std::size_t>(stage_)], wire_.unsent());
}

void HttpConnection::terminate(Self self, const ExitReason&) {
  service_->on_shutdown(self);
  (void)wire_.write_some();
}

Async<void> HttpConnection::handle_info(Self self, Message message) {
  if (const auto* ready = message.get_if<FdReady>()) {
    on_ready(self, *ready);
  } else if (message.is<Check>()) {
    on_check(self);
  } else if (message.is<Comment>()) {
    on_comment(self);
  } else if (message.is<LingeredEnough>()) {
    self.stop();
    co_return;
  } else if (message.is<MakeRoom>()) {
    if (!is_trusted_) {
      make_room(self);
      co_return;
    }
  } else if (message.is<GoOn>()) {
    is_going_on_ = false;
  } else {
    service_->on_message(self, message);
  }
  auto reading = read_requests(self);
  co_await reading;
  feed(self);
  write_some(self);
  if (stage_ == Stage::streaming && wire_.unsent() == 0) service_->on_drained(self);
  if (has_more_ && !is_going_on_ && !is_full()) {
    is_going_on_ = true;
    self.send(self.pid(), GoOn{});
  }
  const bool has_nothing_to_do = stage_ == Stage::ending || (is_closed_by_client_ && is_reading() && !has_more_);
  if (has_nothing_to_do && wire_.unsent() == 0) finish(self);
  if (stage_ == Stage::lingering && is_closed_by_client_) self.stop();
  if (stage_ == Stage::streaming && !is_commenting_) {
    is_commenting_ = true;
    self.send_after(setup_->limits.comment_every, self.pid(), Comment{});
  }
  wire_.arm(self.pid(), may_read());
}

bool HttpConnection::may_read() const {
  if (is_closed_by_client_) return false;
  if (stage_ == Stage::lingering) return true;
  if (!is_hearing() || is_full() || has_more_) return false;
  // More than a request may have, with what is around its chunks, is not taken in. Other protocols see to it
  // themselves.
  const HttpLimits& most = setup_->limits.request;
  return stage_ == Stage::upgraded || wire_.in().size() <= 2 * (most.head_bytes + most.body_bytes);
}

void HttpConnection::finish(Self self) {
  if (!is_refused_ || is_closed_by_client_) return self.stop();
  enter(self, Stage::lingering);
  wire_.end_output();
  drop_input();
  self.send_after(k_linger, self.pid(), LingeredEnough{});
}

void HttpConnection::drop_input() { wire_.consume(wire_.in().size()); }

void HttpConnection::on_ready(Self self, const FdReady& ready) {
  if (ready.is_broken && !ready.is_readable) return lost(self);
  if (ready.is_writable) write_some(self);
  if (ready.has_ended && !may_read()) {
    wire_.note_end();
    may_be_gone_ = true;
  }
  if (!is_hearing() && stage_ != Stage::lingering) {
    // What can be read has its turn later. When the client will send nothing more, whether it still reads is not known:
    // a short answer is still sent, a stream is taken as ended.
    if (ready.has_ended && (stage_ == Stage::streaming || ready.is_broken)) lost(self);
    return;
  }
  if (!ready.is_readable) return;
  for (std::size_t i = 0; i < k_http_reads_at_once && may_read(); ++i) {
    const auto got = wire_.read_some();
    if (got == Wire::Got::nothing) break;
    if (got == Wire::Got::end) {
      if (stage_ == Stage::upgraded) return lost(self);
      is_closed_by_client_ = true;
      may_be_gone_ = true;
      break;
    }
    if (stage_ == Stage::idle) enter(self, Stage::receiving);
    if (stage_ == Stage::lingering) drop_input();
  }
}

Async<void> HttpConnection::read_requests(Self self) {
  std::size_t taken = 0;  // of what came, by requests that were whole
  has_more_ = false;
  for (std::size_t count = 0; is_reading() && taken < wire_.in().size(); ++count) {
    if (count == k_requests_at_once || is_full()) {
      has_more_ = true;
      break;
    }
    if (stage_ == Stage::idle) enter(self, Stage::receiving);
    const auto state = reader_.read(std::string_view(wire_.in()).substr(taken));
    if (state == HttpReader::State::needs_more) {
      look_at_head(self);
      break;
    }
    if (state == HttpReader::State::refused) {
      refuse(reader_.status(), reader_.why());
      break;
    }
    std::size_t used = 0;
    HttpRequest request = reader_.take(used);
    taken += used;
    has_seen_head_ = false;
    keeps_alive_ = request.keeps_alive;
    takes_chunks_ = request.takes_chunks;
    wants_head_only_ = request.method == "HEAD";
    enter(self, Stage::answering);
    auto answering = service_->on_request(self, std::move(request));
    co_await answering;
  }
  wire_.consume(taken);
}

void HttpConnection::feed(Self self) {
  if (stage_ != Stage::upgraded || wire_.in().empty()) return;
  wire_.consume(service_->on_bytes(self, wire_.in()));
  has_more_ = stage_ == Stage::upgraded && is_full() && !wire_.in().empty();
}

void HttpConnection::look_at_head(Self self) {
  const HttpRequest* head = reader_.head();
  if (head == nullptr || std::exchange(has_seen_head_, true)) return;
  if (const auto refusal = service_->on_head(self, *head)) return refuse(*refusal);
  if (reader_.wants_continue()) wire_.put(k_continue);
}

void HttpConnection::refuse(int status, const std::string& why) {
  refuse({status, {{"Content-Type", "text/plain"}}, why + "\n"});
}

void HttpConnection::refuse(const HttpResponse& response) {
  wire_.put(http_text(response, false));
  is_refused_ = true;
  stage_ = Stage::ending;
}

void HttpConnection::enter(Self self, Stage stage) {
  stage_ = stage;
  since_ = self.now();
}

void HttpConnection::respond(HttpResponse response) {
  if (stage_ != Stage::answering) return;
  if (response.closes) {
    keeps_alive_ = false;
    is_refused_ = true;
  }
  std::string text = http_text(response, keeps_alive_);
  if (wants_head_only_) text.resize(text.size() - response.body.size());
  wire_.put(text);
  answered();
}

void HttpConnection::begin_stream(HttpResponse head) {
  if (stage_ != Stage::answering) return;
  wire_.put(takes_chunks_ ? http_stream_head(head, keeps_alive_) : http_endless_head(head));
  stage_ = Stage::streaming;
}

void HttpConnection::send_event(std::string_view event) {
  if (stage_ != Stage::streaming) return;
  put_piece(event);
}

void HttpConnection::put_piece(std::string_view piece) {
  if (takes_chunks_) return wire_.put(http_chunk(piece));
  wire_.put(piece);
}

void HttpConnection::end_stream() {
  if (stage_ != Stage::streaming) return;
  if (takes_chunks_) wire_.put(http_chunk(""));
  answered();
}

void HttpConnection::upgrade(HttpResponse head) {
  if (stage_ != Stage::answering) return;
  wire_.put(http_text(head, true));
  enter(self_, Stage::upgraded);
}

void HttpConnection::send_bytes(std::string_view bytes) {
  if (stage_ == Stage::upgraded) wire_.put(bytes);
}

void HttpConnection::close() {
  if (stage_ != Stage::upgraded) return;
  enter(self_, Stage::ending);
  is_refused_ = true;
}

bool HttpConnection::is_full() const {
  return wire_.unsent() > std::min(k_unsent_at_most, setup_->limits.output_bytes / 2);
}

void HttpConnection::trust() {
  if (std::exchange(is_trusted_, true)) return;
  wire_.trust();
}

// At once: somebody else waits for the descriptor.
void HttpConnection::make_room(Self self) {
  if (is_reading()) {
    wire_.put(http_text({http_status::k_unavailable, {{"Retry-After", "1"}}, "too many connections without a token\n"},
                        false));
    (void)wire_.write_some();
  }
  self.stop();
}

void HttpConnection::answered() { enter(self_, keeps_alive_ ? Stage::idle : Stage::ending); }

void HttpConnection::on_comment(Self) {
  is_commenting_ = false;
  if (stage_ == Stage::streaming) put_piece(": \n\n");
}

void HttpConnection::lost(Self self) {
  is_closed_by_client_ = true;
  const bool was_waiting = stage_ == Stage::answering || stage_ == Stage::streaming || stage_ == Stage::upgraded;
  stage_ = Stage::ending;
  wire_.drop_unsent();
  left_ = 0;
  if (was_waiting) service_->on_client_gone(self);
}

void HttpConnection::write_some(Self self) {
  const std::size_t before = wire_.unsent();
  // A single requested answer may be of any length. Output that keeps growing, such as a stream, may not.
  const bool is_too_much = left_ > setup_->limits.output_bytes && before > left_;
  if (!wire_.write_some()) return lost(self);
  left_ = wire_.unsent();
  if (is_too_much && left_ > setup_->limits.output_bytes) return lost(self);
  if (left_ < before || before == 0) sent_at_ = self.now();
  if (stage_ == Stage::idle && left_ == 0 && before > 0) since_ = self.now();  // it has its answers only now
}

void HttpConnection::on_check(Self self) {
  self.send_after(check_every(setup_->limits), self.pid(), Check{});
  if (wire_.unsent() > 0 && between(sent_at_, self.now()) >= setup_->limits.stalled) return lost(self);
  // A client that is not read from, because it has not taken its answers, is not late with anything.
  if (is_reading() && (has_more_ || is_full())) since_ = self.now();
  const Duration stage_time = between(since_, self.now());
  if (stage_ == Stage::idle && wire_.unsent() == 0 && stage_time >= setup_->limits.idle) enter(self, Stage::ending);
  if (stage_ == Stage::receiving && stage_time >= setup_->limits.receive) {
    refuse(http_status::k_request_timeout, "the request did not come in time");
  }
  if (stage_ == Stage::upgraded) service_->on_tick(self);
  find_out_if_gone();
}

// One that has closed both sides looks like one that has closed its own, until it is written to.
void HttpConnection::find_out_if_gone() {
  const bool takes_it = stage_ == Stage::answering && takes_chunks_ && wire_.unsent() == 0;
  if (takes_it && std::exchange(may_be_gone_, false)) wire_.put(k_continue);
}

}  // namespace skein::inline v0::net
