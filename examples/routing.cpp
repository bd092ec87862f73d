// Four agents, one of them failing: the router goes around it, finds another when an attempt fails, and learns.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "skein/routing/router.hpp"

using std::chrono::milliseconds;

int main() {
  skein::Router router;
  skein::Random random(42);
  skein::Instant now;  // a program of yours hands in its clock's time

  for (const std::string id : {"ada", "bob", "cy", "dud"}) {
    const auto joined = router.join({.name = id, .capabilities = {"summarize"}, .capacity = 2}, now);
    if (!joined) {
      std::printf("%s\n", std::string(skein::route_error_text(joined.error())).c_str());
      return 1;
    }
  }

  constexpr std::string_view needed[] = {"summarize"};
  int failed_attempts = 0;
  int failed_tasks = 0;
  for (int task = 0; task < 1000; ++task) {
    std::vector<skein::AgentHandle> failed_by;
    bool is_done = false;
    while (!is_done && failed_by.size() < 4) {
      now += milliseconds(5);
      const auto choice = router.decide(
          {.capabilities = needed, .strategy = skein::Balance::q_learning, .avoid = failed_by}, random, now);
      if (!choice) break;
      auto assignment = router.assigned(choice->agent, now);
      if (!assignment) continue;

      skein::AttemptOutcome outcome{.latency = milliseconds(20)};
      if (router.view(choice->agent, now)->name == "dud") outcome.error = skein::RetryClass::transient;
      router.finished(std::move(*assignment), outcome, now);
      is_done = !outcome.error;
      if (is_done) break;
      ++failed_attempts;
      failed_by.push_back(choice->agent);
    }
    failed_tasks += is_done ? 0 : 1;
  }
  std::printf("1000 tasks: %d attempts failed, %d tasks failed\n", failed_attempts, failed_tasks);
  std::printf("what was learned takes %zu bytes\n", router.learned().save().size());
  return failed_tasks == 0 && failed_attempts < 50 ? 0 : 1;
}
