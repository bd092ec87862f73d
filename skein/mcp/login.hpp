// Who may use a network transport: who shows the node's token. Any thread.
//
// Tokens are compared in constant time, and have 256 random bits: that is what keeps a guesser out. Failed logins are
// counted for all clients together; past `failures` in a `window` the rest are told to come later, and not logged, so
// that guesses do not fill the log. The right token works all the while, or a stranger could keep its owner out. Each
// transport ends the connection after a wrong one: every guess costs one.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"

namespace skein::inline v0::mcp {

// Who has shown the token, on whatever transport: what one of them was given, another may use.
inline constexpr const char* k_token_principal = "http";

struct LoginLimits {
  std::uint32_t failures = 10;
  Duration window = std::chrono::seconds(10);
};

class Login {
 public:
  // An empty token: everybody is let in. `log` gets a line for a failed login, without what was shown.
  Login(std::string token, std::function<void(const std::string&)> log, const LoginLimits& limits = {})
      : token_(std::move(token)), log_(std::move(log)), limits_(limits) {}

  enum class Verdict : std::uint8_t { good, bad, too_many };
  // `authorization`: the header as it came, empty when there was none.
  [[nodiscard]] Verdict check(std::string_view authorization, Instant now);
  [[nodiscard]] Verdict check_token(std::string_view token, Instant now);
  [[nodiscard]] bool wants_token() const { return !token_.empty(); }

 private:
  const std::string token_;
  const std::function<void(const std::string&)> log_;
  const LoginLimits limits_;
  std::mutex mutex_;
  Instant window_began_{};
  std::uint32_t failures_ = 0;
};

}  // namespace skein::inline v0::mcp
