// For tests of transports: a login with one token that is in no data folder.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "skein/mcp/login.hpp"

namespace skein::inline v0::mcp {

// An empty token: the transport wants none.
[[nodiscard]] inline std::shared_ptr<Login> login_with(const std::string& token,
                                                       std::function<void(const std::string&)> log,
                                                       const LoginLimits& limits = {}) {
  const auto access = std::make_shared<operations::Access>("", [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  });
  access->set_first(token);
  return std::make_shared<Login>(access, !token.empty(), std::move(log), limits);
}

}  // namespace skein::inline v0::mcp
