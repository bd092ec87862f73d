// The status codes of HTTP that a node answers with, and what each is called: the only place where they are written
// down as numbers. Plain values.
#pragma once

#include <array>
#include <string_view>

namespace skein::inline v0::net {
namespace http_status {

inline constexpr int k_switching_protocols = 101;
inline constexpr int k_ok = 200;
inline constexpr int k_created = 201;
inline constexpr int k_accepted = 202;
inline constexpr int k_no_content = 204;
inline constexpr int k_bad_request = 400;
inline constexpr int k_unauthorized = 401;
inline constexpr int k_forbidden = 403;
inline constexpr int k_not_found = 404;
inline constexpr int k_method_not_allowed = 405;
inline constexpr int k_not_acceptable = 406;
inline constexpr int k_request_timeout = 408;
inline constexpr int k_conflict = 409;
inline constexpr int k_content_too_large = 413;
inline constexpr int k_uri_too_long = 414;
inline constexpr int k_unsupported_media_type = 415;
inline constexpr int k_misdirected = 421;
inline constexpr int k_unprocessable = 422;
inline constexpr int k_upgrade_required = 426;
inline constexpr int k_too_many_requests = 429;
inline constexpr int k_header_fields_too_large = 431;
inline constexpr int k_internal_error = 500;
inline constexpr int k_not_implemented = 501;
inline constexpr int k_unavailable = 503;
inline constexpr int k_gateway_timeout = 504;
inline constexpr int k_version_not_supported = 505;

struct Reason {
  int status;
  std::string_view text;
};

inline constexpr std::array k_reasons{
    Reason{k_switching_protocols, "Switching Protocols"},
    Reason{k_ok, "OK"},
    Reason{k_created, "Created"},
    Reason{k_accepted, "Accepted"},
    Reason{k_no_content, "No Content"},
    Reason{k_bad_request, "Bad Request"},
    Reason{k_unauthorized, "Unauthorized"},
    Reason{k_forbidden, "Forbidden"},
    Reason{k_not_found, "Not Found"},
    Reason{k_method_not_allowed, "Method Not Allowed"},
    Reason{k_not_acceptable, "Not Acceptable"},
    Reason{k_request_timeout, "Request Timeout"},
    Reason{k_conflict, "Conflict"},
    Reason{k_content_too_large, "Content Too Large"},
    Reason{k_uri_too_long, "URI Too Long"},
    Reason{k_unsupported_media_type, "Unsupported Media Type"},
    Reason{k_misdirected, "Misdirected Request"},
    Reason{k_unprocessable, "Unprocessable Content"},
    Reason{k_upgrade_required, "Upgrade Required"},
    Reason{k_too_many_requests, "Too Many Requests"},
    Reason{k_header_fields_too_large, "Request Header Fields Too Large"},
    Reason{k_internal_error, "Internal Server Error"},
    Reason{k_not_implemented, "Not Implemented"},
    Reason{k_unavailable, "Service Unavailable"},
    Reason{k_gateway_timeout, "Gateway Timeout"},
    Reason{k_version_not_supported, "HTTP Version Not Supported"},
};

}  // namespace http_status

// What the first line of an answer says besides the number; "Status" for a number that stands in no row.
[[nodiscard]] constexpr std::string_view http_reason(int status) {
  for (const http_status::Reason& each : http_status::k_reasons) {
    if (each.status == status) return each.text;
  }
  return "Status";
}

}  // namespace skein::inline v0::net
