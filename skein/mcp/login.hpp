// Decides which clients may use a network transport: those that show a token that the node knows. Any thread.
//
// Tokens are looked up by their SHA-256, and have 256 random bits: that is what keeps a guesser out. Wrong tokens are
// counted for all clients together; past `failures` in a `window` the rest are told to come later, and not logged, so
// that guesses do not fill the log. A right token works all the while, or a stranger could keep its owner out. Each
// transport ends the connection after a wrong one: every guess costs one. A request that shows nothing at all is no
// guess: it is refused, and neither counted nor logged, since clients probe so before they know that a token is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"
#include "skein/operations/access.hpp"

namespace skein::inline v0::mcp {

struct LoginLimits {
  std::uint32_t failures = 10;
  Duration window = std::chrono::seconds(10);
};

class Login {
 public:
  // `wants_token` false: everybody is let in; a client that shows a known token still counts as its holder. `log`
  // gets a line for a failed login, without what was shown.
  Login(std::shared_ptr<const operations::Access> access, bool wants_token, std::function<void(const std::string&)> log,
        const LoginLimits& limits = {})
      : access_(std::move(access)), wants_token_(wants_token), log_(std::move(log)), limits_(limits) {}

  enum class Verdict : std::uint8_t { good, missing, bad, too_many };
  struct Admission {
    Verdict verdict = Verdict::missing;
    operations::PrincipalPtr who{};  // of `good`
  };
  // `authorization`: the header as it came, empty when there was none.
  [[nodiscard]] Admission check(std::string_view authorization, Instant now);
  [[nodiscard]] Admission check_token(std::string_view token, Instant now);
  // The client has shown something that is no token at all.
  [[nodiscard]] Admission wrong(Instant now);
  [[nodiscard]] bool wants_token() const { return wants_token_; }

 private:
  const std::shared_ptr<const operations::Access> access_;
  const bool wants_token_;
  const std::function<void(const std::string&)> log_;
  const LoginLimits limits_;
  std::mutex mutex_;
  Instant window_began_{};
  std::uint32_t failures_ = 0;
};

}  // namespace skein::inline v0::mcp
