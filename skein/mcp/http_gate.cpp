#include "skein/mcp/http_gate.hpp"

#include <fmt/format.h>

#include <utility>

#include "skein/mcp/http_rules.hpp"
#include "skein/net/http_status.hpp"
#include "skein/net/websocket.hpp"

namespace skein::inline v0::mcp {
namespace {

Login::Admission admission_of(const HttpGate& gate, const net::HttpRequest& request, Instant now) {
  const std::string* authorization = request.header("authorization");
  if (authorization != nullptr) return gate.login->check(*authorization, now);
  if (net::wants_websocket(request)) {
    for (const std::string& each : net::websocket_protocols(request)) {
      if (!each.starts_with(k_bearer_protocol)) continue;
      return gate.login->check_token(std::string_view(each).substr(k_bearer_protocol.size()), now);
    }
  }
  return gate.login->check("", now);
}

// RFC 6750, section 3. Some clients show nothing else of a refusal. Without OAuth a missing token is named too.
std::string challenge(bool is_missing) {
  return fmt::format(
      R"(Bearer realm="skein", error="invalid_token", error_description="{}: send Authorization: Bearer, )"
      R"(followed by the content of the file 'token' in the data folder of the node")",
      is_missing ? "the token is missing" : "the token is unknown, was revoked or has expired");
}

net::HttpResponse unauthorized(bool is_missing) {
  net::HttpResponse refused = plain_response(
      net::http_status::k_unauthorized,
      is_missing
          ? "the token is missing: send the header 'Authorization: Bearer TOKEN'; the file 'token' in the node's "
            "data folder has one, 'skein token create' makes others\n"
          : "the token in the header Authorization is unknown here: it was revoked or replaced, has expired, or "
            "belongs to another node; 'skein token list' lists the tokens that work\n");
  refused.headers.emplace_back("WWW-Authenticate", challenge(is_missing));
  refused.closes = true;  // a guess costs a connection
  return refused;
}

}  // namespace

net::HttpResponse plain_response(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain"}}, std::move(text)};
}

GateAnswer admit(const HttpGate& gate, const net::HttpRequest& request, Instant now) {
  const std::string* host = request.header("host");
  if (!is_host_allowed(host != nullptr ? *host : "", gate.hosts)) {
    return {plain_response(net::http_status::k_forbidden,
                           "the host name of this request is unknown: add it to [http] hosts in the node's config\n")};
  }
  const std::string* origin = request.header("origin");
  if (origin != nullptr && !is_origin_allowed(*origin, gate.hosts)) {
    return {plain_response(
        net::http_status::k_forbidden,
        "web pages of this origin may not use the node: add its host to [http] hosts in the node's config\n")};
  }
  Login::Admission admission = admission_of(gate, request, now);
  net::HttpResponse refused;
  switch (admission.verdict) {
    case Login::Verdict::good:
      return {std::nullopt, std::move(admission.who)};
    case Login::Verdict::too_many:
      refused =
          plain_response(net::http_status::k_too_many_requests, "too many wrong tokens: try again in ten seconds\n");
      refused.headers.emplace_back("Retry-After", "10");
      refused.closes = true;
      return {std::move(refused)};
    case Login::Verdict::missing:
    case Login::Verdict::bad:
      break;
  }
  return {unauthorized(admission.verdict == Login::Verdict::missing)};
}

}  // namespace skein::inline v0::mcp
