#include "skein/node/http_front.hpp"

#include <utility>

namespace skein::inline v0::node {

net::HttpService& HttpFront::service_at(Self self, std::string_view path) {
  if (path.starts_with("/api/")) {
    if (!rest_) rest_ = std::make_unique<rest::RestService>(setup_->rest, answers_);
    return *rest_;
  }
  if (!mcp_) mcp_ = std::make_unique<mcp::HttpEndpoint>(self, setup_->mcp, answers_);
  return *mcp_;
}

std::optional<net::HttpResponse> HttpFront::on_head(Self self, const net::HttpRequest& head) {
  return service_at(self, head.path).on_head(self, head);
}

Async<void> HttpFront::on_request(Self self, net::HttpRequest request) {
  asked_ = &service_at(self, request.path);
  return asked_->on_request(self, std::move(request));
}

void HttpFront::on_message(Self self, Message& message) {
  if (rest_ && rest_->take(self, message)) return;
  if (mcp_) mcp_->on_message(self, message);
}

void HttpFront::on_client_gone(Self self) {
  if (asked_ != nullptr) asked_->on_client_gone(self);
}

void HttpFront::on_shutdown(Self self) {
  if (rest_) rest_->on_shutdown(self);
  if (mcp_) mcp_->on_shutdown(self);
}

std::size_t HttpFront::on_bytes(Self self, std::string_view in) { return asked_->on_bytes(self, in); }

void HttpFront::on_tick(Self self) { asked_->on_tick(self); }

void HttpFront::on_drained(Self self) {
  if (asked_ != nullptr) asked_->on_drained(self);
}

}  // namespace skein::inline v0::node
