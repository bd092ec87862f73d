// One HTTP client: a process that reads requests, one at a time, hands each to a service and writes what it answers.
//
// 1. Nothing blocks, and nothing grows past HttpConnectionLimits: a client that sends its request too slowly is
//    answered 408 and closed, a client that does not read is closed, a silent client is closed after `idle`.
// 2. The next request is read only after the one before was answered, and only while little output waits for the
//    client. A client that sends without reading is thus throttled; it is closed when it reads nothing for `stalled`.
//    Meanwhile `idle` and `receive` do not count. A malformed request ends the connection; the rest of it is read and
//    dropped for a moment, since closing a socket with unread bytes would discard the answer.
// 3. A request that was complete before the client closed its side is answered. If the answer takes a while,
//    '100 Continue' goes ahead of it: a client that still reads skips it, and a client that is gone is noticed.
// 4. The client is checked (host, origin, token) before the body is read: a stranger cannot make the node buffer one.
// 5. An upgraded connection carries bytes of another protocol, and the service that asked for the upgrade reads them.
// 6. A stream sends a comment every `comment_every`, so that both sides know it is alive; when the client ends it, the
//    service is told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "skein/net/http.hpp"
#include "skein/net/wire.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::net {

struct HttpConnectionLimits {
  HttpLimits request{};
  Duration idle = std::chrono::seconds(75);           // between requests
  Duration receive = std::chrono::seconds(30);        // from the first byte of a request to its last
  Duration stalled = std::chrono::seconds(30);        // with bytes to write and none taken
  std::size_t output_bytes = 16ULL << 20U;            // not taken by a client that is sent more: then it is closed
  Duration comment_every = std::chrono::seconds(15);  // on a stream
};

// A service answers with this; the connection implements it.
class HttpAnswers {
 public:
  HttpAnswers() = default;
  HttpAnswers(const HttpAnswers&) = delete;
  HttpAnswers& operator=(const HttpAnswers&) = delete;
  virtual ~HttpAnswers() = default;

  virtual void respond(HttpResponse response) = 0;
  // Server-sent events: begin, then events, then end.
  virtual void begin_stream(HttpResponse head) = 0;
  virtual void send_event(std::string_view event) = 0;
  virtual void end_stream() = 0;
  // The answer is 101: from here on bytes go to HttpService::on_bytes, and out by send_bytes until close().
  virtual void upgrade(HttpResponse head) = 0;
  virtual void send_bytes(std::string_view bytes) = 0;
  virtual void close() = 0;
  // So much waits for the client that nothing more should be made for it.
  [[nodiscard]] virtual bool is_full() const = 0;
  // The client has shown that it may be here: from now on it is trusted and not closed to make room for others.
  virtual void trust() {}
};

// Answers the requests of one connection, in the process that serves it.
class HttpService {
 public:
  HttpService() = default;
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  virtual ~HttpService() = default;

  // The body has not come yet. Something: it is not waited for, this is the answer, and the connection ends.
  virtual std::optional<HttpResponse> on_head(Self, const HttpRequest&) { return std::nullopt; }
  // Answers now or later, once.
  virtual Async<void> on_request(Self self, HttpRequest request) = 0;
  // A message to the process that is not the connection's own.
  virtual void on_message(Self self, Message& message) = 0;
  // The client of the last request has gone.
  virtual void on_client_gone(Self self) = 0;
  // The process is about to end.
  virtual void on_shutdown(Self self) = 0;

  // After an upgrade: what came. Gives how much of it is done with; it should leave the rest when is_full().
  virtual std::size_t on_bytes(Self, std::string_view in) { return in.size(); }
  // After an upgrade: now and then.
  virtual void on_tick(Self) {}
  // The client has taken all there was of a stream; called often.
  virtual void on_drained(Self) {}
};

struct HttpSetup {
  std::shared_ptr<FdPoller> poller;
  HttpConnectionLimits limits;
  std::shared_ptr<std::atomic<std::uint32_t>> open;  // connections now
  std::function<std::unique_ptr<HttpService>(Self self, HttpAnswers& answers)> make_service;
};

class HttpConnection final : private HttpAnswers {
 public:
  HttpConnection(Self self, std::shared_ptr<const HttpSetup> setup, ClientPtr client);
  ~HttpConnection() override;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  Async<void> handle_info(Self self, Message message);
  void terminate(Self self, const ExitReason& reason);
  [[nodiscard]] std::string describe() const;

 private:
  enum class Stage : std::uint8_t { idle, receiving, answering, streaming, upgraded, ending, lingering };
  struct Check {};
  struct GoOn {};
  struct LingeredEnough {};
  struct Comment {};

  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  void send_event(std::string_view event) override;
  void end_stream() override;
  void upgrade(HttpResponse head) override;
  void send_bytes(std::string_view bytes) override;
  void close() override;
  [[nodiscard]] bool is_full() const override;
  void trust() override;

  void on_ready(Self self, const FdReady& ready);
  Async<void> read_requests(Self self);
  void feed(Self self);
  // The state of the reader is that of a request which is not whole.
  void look_at_head(Self self);
  void refuse(int status, const std::string& why);
  void refuse(const HttpResponse& response);
  void drop_input();
  void finish(Self self);
  [[nodiscard]] bool is_reading() const { return stage_ == Stage::idle || stage_ == Stage::receiving; }
  // Of bytes of whatever protocol.
  [[nodiscard]] bool is_hearing() const { return is_reading() || stage_ == Stage::upgraded; }
  [[nodiscard]] bool may_read() const;
  void answered();
  void enter(Self self, Stage stage);
  void on_check(Self self);
  void find_out_if_gone();
  void on_comment(Self self);
  // Of a stream.
  void put_piece(std::string_view piece);
  void lost(Self self);
  void make_room(Self self);
  void write_some(Self self);

  Self self_;
  std::shared_ptr<const HttpSetup> setup_;
  Wire wire_;
  HttpReader reader_;
  std::unique_ptr<HttpService> service_;
  Stage stage_ = Stage::idle;
  bool keeps_alive_ = true;
  bool takes_chunks_ = true;
  bool has_seen_head_ = false;    // of the request that is being received
  bool wants_head_only_ = false;  // the request that is being answered
  bool has_more_ = false;         // requests that are there, and have their turn after others'
  bool is_going_on_ = false;      // it will be told so
  bool is_refused_ = false;       // what the client still sends will be dropped
  bool is_closed_by_client_ = false;
  bool may_be_gone_ = false;  // it sends nothing more; whether it reads is not known
  bool is_commenting_ = false;
  bool is_trusted_ = false;
  Instant since_{};       // in this stage
  Instant sent_at_{};     // when the client last took something, or had taken everything
  std::size_t left_ = 0;  // of what was to be written, when it was last tried
};

}  // namespace skein::inline v0::net
