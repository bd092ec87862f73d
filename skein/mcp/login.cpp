#include "skein/mcp/login.hpp"

#include <algorithm>

#include "skein/mcp/seal.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_scheme = "bearer ";

// What is shown, or nothing in other schemes.
std::string_view shown_in(std::string_view authorization) {
  if (authorization.size() < k_scheme.size()) return {};
  const auto same = [](char left, char right) {
    return static_cast<char>(static_cast<unsigned char>(left) | 0x20U) == right;
  };
  if (!std::ranges::equal(authorization.substr(0, k_scheme.size()), k_scheme, same)) return {};
  return authorization.substr(k_scheme.size());
}

}  // namespace

Login::Verdict Login::check(std::string_view authorization, Instant now) {
  return check_token(shown_in(authorization), now);
}

Login::Verdict Login::check_token(std::string_view token, Instant now) {
  if (token_.empty() || equal_secrets(token, token_)) return Verdict::good;
  const std::scoped_lock lock(mutex_);
  if (failures_ == 0 || between(window_began_, now) >= limits_.window) {
    window_began_ = now;
    failures_ = 0;
  }
  if (failures_ >= limits_.failures) return Verdict::too_many;
  ++failures_;
  if (log_) {
    log_(failures_ == limits_.failures ? "a client showed a wrong token; no more such lines for a while"
                                       : "a client showed a wrong token, or none");
  }
  return Verdict::bad;
}

}  // namespace skein::inline v0::mcp
