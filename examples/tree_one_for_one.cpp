// Two workers that do not need each other: one crashes and comes back, the other does not notice. Then it crashes too
// often, and the supervisor gives up instead of restarting it for ever.
#include <chrono>
#include <cstdio>

#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

using namespace std::chrono_literals;

struct Worker {
  void handle_info(skein::Self, skein::Message) {}
};

int main() {
  // A seed makes the runtime deterministic, on virtual time: this program does the same at every run.
  skein::RuntimeOptions options;
  options.seed = 1;
  skein::Runtime runtime(options);

  const skein::SupervisorSpec tree = skein::trees::supervisor(  //
      "shop", skein::trees::one_for_one, {2, 60s},
      {
          skein::named_child<Worker>("till", "till"),
          skein::named_child<Worker>("scale", "scale"),
      });
  const auto shop = skein::start_supervisor(runtime, tree);
  if (!shop) return 1;
  const skein::Pid scale = runtime.whereis("scale");

  int restarts = 0;
  for (int kill = 1; kill <= 3; ++kill) {
    const skein::Pid till = runtime.whereis("till");
    runtime.exit(till, skein::ExitReason::kill());
    runtime.run_ready();
    const skein::Pid next = runtime.whereis("till");
    if (next && next != till) ++restarts;
    std::printf("kill %d of the till: %s\n", kill, next ? "a new one is there" : "the supervisor gave up");
    if (kill < 3 && runtime.whereis("scale") != scale) return 1;  // the scale must not have been touched
  }
  const bool ended = !runtime.is_alive(shop->pid) && !runtime.is_alive(scale);
  std::printf("2 restarts were allowed, %d were made; the shop is %s\n", restarts, ended ? "closed" : "open");
  return restarts == 2 && ended ? 0 : 1;
}
