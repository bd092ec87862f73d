// Four agents, one of them failing: the router goes around it, finds another when an attempt fails, and learns.
#include <cstdio>
#include <string>
#include <string_view>

#include "skein/dispatch/fallback_path.hpp"
#include "skein/dispatch/router.hpp"

using std::chrono::milliseconds;

int main() {
  skein::Router router;
  skein::Random random(42);
  skein::Instant now;  // a program of yours hands in its clock's time

  for (const std::string id : {"ada", "bob", "cy", "dud"}) {
    const auto joined = router.join({.id = id, .capabilities = {"summarize"}, .capacity = 2}, now);
    if (!joined) {
      std::printf("%s\n", std::string(skein::route_error_text(joined.error())).c_str());
      return 1;
    }
  }

  constexpr std::string_view needed[] = {"summarize"};
  int failed_attempts = 0;
  int failed_tasks = 0;
  for (int task = 0; task < 1000; ++task) {
    skein::FallbackPath path(4, false);
    for (auto step = skein::FallbackStep::next_attempt; step != skein::FallbackStep::failed;) {
      now += milliseconds(5);
      const auto choice = router.decide(
          {.capabilities = needed, .strategy = skein::Balance::q_learning, .avoid = path.avoid()}, random, now);
      if (!choice) {
        step = path.no_agent_left();
        failed_tasks += step == skein::FallbackStep::failed ? 1 : 0;
        continue;
      }
      auto assignment = router.assigned(choice->agent, now);
      if (!assignment) continue;

      skein::Outcome outcome{.latency = milliseconds(20)};
      if (router.view(choice->agent, now)->id == "dud") outcome.error = skein::ErrorClass::transient;
      router.finished(std::move(*assignment), outcome, now);
      if (!outcome.error) break;
      ++failed_attempts;
      step = path.attempt_failed(choice->agent, *outcome.error);
      failed_tasks += step == skein::FallbackStep::failed ? 1 : 0;
    }
  }
  std::printf("1000 tasks: %d attempts failed, %d tasks failed\n", failed_attempts, failed_tasks);
  std::printf("what was learned takes %zu bytes\n", router.learned().save().size());
  return failed_tasks == 0 && failed_attempts < 50 ? 0 : 1;
}
