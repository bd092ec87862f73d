// A router with a clock and dice of its own, for *_test.cpp files. One thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/routing/router.hpp"

namespace skein::inline v0 {

class RouterTest : public testing::Test {
 protected:
  static constexpr std::string_view k_work[] = {"work"};
  static constexpr AttemptOutcome k_ok{.latency = std::chrono::milliseconds(10)};
  static constexpr AttemptOutcome k_broke{.error = RetryClass::transient, .latency = std::chrono::milliseconds(10)};

  AgentHandle join(const std::string& id, std::uint32_t capacity = 10, const std::string& executor = "",
                   const std::vector<std::string>& capabilities = {"work"}) {
    const auto joined = router_.join({.name = id,
                                      .pid = Pid(0, ++slots_, 1),
                                      .capabilities = capabilities,
                                      .capacity = capacity,
                                      .executor = executor},
                                     now_);
    EXPECT_TRUE(joined) << route_error_text(joined.error());
    return joined.value_or(AgentHandle{});
  }
  Router::Result<Router::Choice> decide(Balance strategy = Balance::round_robin, std::string_view key = "",
                                        std::span<const AgentHandle> avoid = {}) {
    return router_.decide({.capabilities = k_work, .strategy = strategy, .key = key, .avoid = avoid}, random_, now_);
  }
  Assignment assign(AgentHandle agent) {
    auto assignment = router_.assigned(agent, now_);
    EXPECT_TRUE(assignment) << route_error_text(assignment.error());
    return std::move(*assignment);
  }
  void run(AgentHandle agent, const AttemptOutcome& outcome, int times = 1) {
    for (int i = 0; i < times; ++i) router_.finished(assign(agent), outcome, now_);
  }
  AgentView view(AgentHandle agent) { return *router_.view(agent, now_); }

  Router router_;
  Random random_{42};
  Instant now_{std::chrono::seconds(1000)};
  std::uint32_t slots_ = 0;
};

}  // namespace skein::inline v0
