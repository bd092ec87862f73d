#include "skein/mcp/login.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_scheme = "bearer";
constexpr std::string_view k_other_scheme = "basic";  // which many clients know

bool is_scheme(std::string_view given, std::string_view scheme) {
  const auto same = [](char left, char right) {
    return static_cast<char>(static_cast<unsigned char>(left) | 0x20U) == right;
  };
  return std::ranges::equal(given, scheme, same);
}

// What is shown; nothing in other schemes.
std::string_view shown_in(std::string_view authorization) {
  const std::size_t end = k_scheme.size();
  if (authorization.size() <= end || authorization[end] != ' ' || !is_scheme(authorization.substr(0, end), k_scheme)) {
    return {};
  }
  return authorization.substr(end + 1);
}

// The scheme alone, as a client sends it whose variable with the token is empty.
bool shows_nothing(std::string_view authorization) {
  while (authorization.ends_with(' ') || authorization.ends_with('\t')) authorization.remove_suffix(1);
  return authorization.empty() || is_scheme(authorization, k_scheme) || is_scheme(authorization, k_other_scheme);
}

}  // namespace

Login::Admission Login::check(std::string_view authorization, Instant now) {
  if (shows_nothing(authorization)) return check_token("", now);
  const std::string_view token = shown_in(authorization);
  return token.empty() && wants_token_ ? wrong(now) : check_token(token, now);
}

Login::Admission Login::check_token(std::string_view token, Instant now) {
  if (auto who = access_->identify(token)) return {Verdict::good, std::move(who)};
  if (!wants_token_) return {Verdict::good, operations::anyone()};
  if (token.empty()) return {Verdict::missing, nullptr};
  return wrong(now);
}

Login::Admission Login::wrong(Instant now) {
  const std::scoped_lock lock(mutex_);
  if (failures_ == 0 || between(window_began_, now) >= limits_.window) {
    window_began_ = now;
    failures_ = 0;
  }
  if (failures_ >= limits_.failures) return {Verdict::too_many, nullptr};
  ++failures_;
  if (log_) {
    log_(failures_ == limits_.failures ? "a client sent a wrong token; further ones are not logged for a while"
                                       : "a client sent a wrong token");
  }
  return {Verdict::bad, nullptr};
}

}  // namespace skein::inline v0::mcp
