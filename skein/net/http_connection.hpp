// One HTTP client: a process that reads requests, one at a time, hands each to a service and writes what it answers.
//
// 1. Nothing blocks, and nothing grows past HttpConnectionLimits: a client that is slow to ask is answered 408 and
//    closed, one that does not read is closed, one that says nothing is closed after `idle`.
// 2. The next request is read when the one before is answered. A request that cannot be read ends the connection.
// 3. A stream that has nothing to say sends a comment every `comment_every`, so that both sides know it is alive; when
//    the client ends it, the service is told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  std::size_t output_bytes = 16ULL << 20U;            // that the client has not taken; then it is closed
  Duration comment_every = std::chrono::seconds(15);  // on a stream that is silent
};

// What a service answers with; the connection is one.
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
};

// Answers the requests of one connection, in the process that serves it.
class HttpService {
 public:
  HttpService() = default;
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  virtual ~HttpService() = default;

  // Answers now or later, once.
  virtual Task<void> on_request(Self self, HttpRequest request) = 0;
  // A message to the process that is not the connection's own.
  virtual void on_message(Self self, Message& message) = 0;
  // Nobody waits any more for what was asked last.
  virtual void on_client_gone(Self self) = 0;
  // The process is about to end.
  virtual void on_shutdown(Self self) = 0;
};

struct HttpSetup {
  std::shared_ptr<FdPoller> poller;
  HttpConnectionLimits limits;
  std::shared_ptr<std::atomic<std::uint32_t>> open;  // connections now
  std::function<std::unique_ptr<HttpService>(Self self, HttpAnswers& answers)> make_service;
};

class HttpConnection final : private HttpAnswers {
 public:
  HttpConnection(Self self, std::shared_ptr<const HttpSetup> setup, std::shared_ptr<Fd> fd);
  ~HttpConnection() override;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  Task<void> handle_info(Self self, Message message);
  void terminate(Self self, const ExitReason& reason);
  [[nodiscard]] std::string describe() const;

 private:
  enum class Phase : std::uint8_t { idle, receiving, answering, streaming, ending };
  struct Check {};
  struct Comment {};

  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  void send_event(std::string_view event) override;
  void end_stream() override;

  void on_ready(Self self, const FdReady& ready);
  Task<void> read_requests(Self self);
  void refuse(int status, const std::string& why);
  void answered();
  void enter(Self self, Phase phase);
  void on_check(Self self);
  void on_comment(Self self);
  void lost(Self self);
  void write_some(Self self);

  std::shared_ptr<const HttpSetup> setup_;
  Wire wire_;
  HttpReader reader_;
  std::unique_ptr<HttpService> service_;
  Phase phase_ = Phase::idle;
  bool keeps_alive_ = true;
  bool is_closed_by_client_ = false;
  bool is_commenting_ = false;
  Instant since_{};        // in this phase
  Instant sent_at_{};      // when the client last took something, or had taken everything
  bool has_said_ = false;  // on the stream, since the last comment
};

}  // namespace skein::inline v0::net
