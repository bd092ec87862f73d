#include "skein/net/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::inline v0::net {
namespace {

constexpr std::size_t k_http_reads_at_once = 8;  // then others get their turn
constexpr int k_request_timeout = 408;
constexpr Duration k_check_every = std::chrono::seconds(5);

}  // namespace

HttpConnection::HttpConnection(Self self, std::shared_ptr<const HttpSetup> setup, std::shared_ptr<Fd> fd)
    : setup_(std::move(setup)),
      wire_(setup_->poller, std::move(fd)),
      reader_(setup_->limits.request),
      service_(setup_->make_service(self, *this)),
      since_(self.now()),
      sent_at_(self.now()) {
  self.trap_exit(true);  // to end streams in order, see terminate()
  self.send_after(k_check_every, self.pid(), Check{});
  wire_.arm(self.pid(), true);
}

HttpConnection::~HttpConnection() { setup_->open->fetch_sub(1); }

std::string HttpConnection::describe() const {
  static constexpr const char* k_names[] = {"idle", "receiving", "answering", "streaming", "ending"};
  return fmt::format("{}, {} bytes unsent", k_names[static_cast<std::size_t>(phase_)], wire_.unsent());
}

void HttpConnection::terminate(Self self, const ExitReason&) {
  service_->on_shutdown(self);
  (void)wire_.write_some();
}

Task<void> HttpConnection::handle_info(Self self, Message message) {
  if (const auto* ready = message.get_if<FdReady>()) {
    on_ready(self, *ready);
  } else if (message.is<Check>()) {
    on_check(self);
  } else if (message.is<Comment>()) {
    on_comment(self);
  } else {
    service_->on_message(self, message);
  }
  auto reading = read_requests(self);
  co_await reading;
  write_some(self);
  const bool has_nothing_to_do = phase_ == Phase::ending || (is_closed_by_client_ && phase_ == Phase::idle);
  if (has_nothing_to_do && wire_.unsent() == 0) {
    self.stop();
    co_return;
  }
  if (phase_ == Phase::streaming && !is_commenting_) {
    is_commenting_ = true;
    self.send_after(setup_->limits.comment_every, self.pid(), Comment{});
  }
  const bool may_read = !is_closed_by_client_ && (phase_ == Phase::idle || phase_ == Phase::receiving);
  wire_.arm(self.pid(), may_read);
}

void HttpConnection::on_ready(Self self, const FdReady& ready) {
  const bool is_reading = phase_ == Phase::idle || phase_ == Phase::receiving;
  if (ready.is_broken && !ready.is_readable) return lost(self);
  if (ready.is_readable && !is_reading) {
    // The client will send nothing more. Whether it still reads is not known: a short answer is given all the same, a
    // stream is taken as ended.
    if (phase_ == Phase::streaming || ready.is_broken) return lost(self);
    is_closed_by_client_ = true;
    wire_.note_end();
    return;
  }
  if (!ready.is_readable) return;
  for (std::size_t i = 0; i < k_http_reads_at_once; ++i) {
    const auto got = wire_.read_some();
    if (got == Wire::Got::nothing) break;
    if (got == Wire::Got::end) {
      is_closed_by_client_ = true;
      if (phase_ == Phase::receiving) enter(self, Phase::ending);  // half a request
      break;
    }
    if (phase_ == Phase::idle) enter(self, Phase::receiving);
    // More than a request may have is not taken in.
    const HttpLimits& most = setup_->limits.request;
    if (wire_.in().size() > most.head_bytes + most.body_bytes + k_read_bytes) break;
  }
}

Task<void> HttpConnection::read_requests(Self self) {
  while ((phase_ == Phase::idle || phase_ == Phase::receiving) && !wire_.in().empty()) {
    if (phase_ == Phase::idle) enter(self, Phase::receiving);
    const auto state = reader_.read(wire_.in());
    if (reader_.wants_continue()) wire_.put("HTTP/1.1 100 Continue\r\n\r\n");
    if (state == HttpReader::State::needs_more) co_return;
    if (state == HttpReader::State::refused) {
      refuse(reader_.status(), reader_.why());
      co_return;
    }
    std::size_t used = 0;
    HttpRequest request = reader_.take(used);
    wire_.consume(used);
    keeps_alive_ = request.keeps_alive;
    enter(self, Phase::answering);
    auto answering = service_->on_request(self, std::move(request));
    co_await answering;
  }
}

void HttpConnection::refuse(int status, const std::string& why) {
  wire_.put(http_text({status, {{"Content-Type", "text/plain"}}, why + "\n"}, false));
  phase_ = Phase::ending;
}

void HttpConnection::enter(Self self, Phase phase) {
  phase_ = phase;
  since_ = self.now();
}

void HttpConnection::respond(HttpResponse response) {
  if (phase_ != Phase::answering) return;
  wire_.put(http_text(response, keeps_alive_));
  answered();
}

void HttpConnection::begin_stream(HttpResponse head) {
  if (phase_ != Phase::answering) return;
  wire_.put(http_stream_head(head, keeps_alive_));
  phase_ = Phase::streaming;
}

void HttpConnection::send_event(std::string_view event) {
  if (phase_ != Phase::streaming) return;
  has_said_ = true;
  wire_.put(http_chunk(event));
}

void HttpConnection::end_stream() {
  if (phase_ != Phase::streaming) return;
  wire_.put(http_chunk(""));
  answered();
}

void HttpConnection::answered() { phase_ = keeps_alive_ ? Phase::idle : Phase::ending; }

void HttpConnection::on_comment(Self) {
  is_commenting_ = false;
  if (phase_ != Phase::streaming) return;
  if (!std::exchange(has_said_, false)) wire_.put(http_chunk(": \n\n"));
}

void HttpConnection::lost(Self self) {
  is_closed_by_client_ = true;
  const bool was_waiting = phase_ == Phase::answering || phase_ == Phase::streaming;
  phase_ = Phase::ending;
  wire_.drop_unsent();
  if (was_waiting) service_->on_client_gone(self);
}

void HttpConnection::write_some(Self self) {
  const std::size_t before = wire_.unsent();
  if (before > setup_->limits.output_bytes || !wire_.write_some()) return lost(self);
  if (wire_.unsent() < before || before == 0) sent_at_ = self.now();
}

void HttpConnection::on_check(Self self) {
  self.send_after(k_check_every, self.pid(), Check{});
  const Duration phase_time = between(since_, self.now());
  if (wire_.unsent() > 0 && between(sent_at_, self.now()) >= setup_->limits.stalled) return lost(self);
  if (phase_ == Phase::idle && phase_time >= setup_->limits.idle) enter(self, Phase::ending);
  if (phase_ == Phase::receiving && phase_time >= setup_->limits.receive) {
    refuse(k_request_timeout, "the request did not come in time");
  }
}

}  // namespace skein::inline v0::net
