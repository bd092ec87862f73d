// What a node serves on one HTTP connection: MCP and REST, each by its path. A service is made when it is first asked
// for, so that a connection that says nothing holds none.
#pragma once

#include <memory>

#include "skein/mcp/http_endpoint.hpp"
#include "skein/rest/rest_service.hpp"

namespace skein::inline v0::node {

struct HttpFrontSetup {
  std::shared_ptr<const mcp::HttpEndpointSetup> mcp;
  std::shared_ptr<const rest::RestSetup> rest;
};

class HttpFront final : public net::HttpService {
 public:
  HttpFront(std::shared_ptr<const HttpFrontSetup> setup, net::HttpAnswers& answers)
      : setup_(std::move(setup)), answers_(answers) {}

  std::optional<net::HttpResponse> on_head(Self self, const net::HttpRequest& head) override;
  Async<void> on_request(Self self, net::HttpRequest request) override;
  void on_message(Self self, Message& message) override;
  void on_client_gone(Self self) override;
  void on_shutdown(Self self) override;
  std::size_t on_bytes(Self self, std::string_view in) override;
  void on_tick(Self self) override;
  void on_drained(Self self) override;

 private:
  [[nodiscard]] net::HttpService& service_at(Self self, std::string_view path);

  std::shared_ptr<const HttpFrontSetup> setup_;
  net::HttpAnswers& answers_;
  std::unique_ptr<mcp::HttpEndpoint> mcp_;
  std::unique_ptr<rest::RestService> rest_;
  net::HttpService* asked_ = nullptr;  // by the last request
};

}  // namespace skein::inline v0::node
