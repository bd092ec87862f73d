// A pool of temporary children, one per visitor, under a supervisor that is killed: nobody of it is left behind, the
// pool comes back empty, and the next visitor is served.
#include <chrono>
#include <cstdio>
#include <string>

#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

using namespace std::chrono_literals;

struct Visit {
  std::string name;
  explicit Visit(std::string who) : name(std::move(who)) {}
  void handle_info(skein::Self, skein::Message) {}
};

namespace {

bool welcome(skein::Runtime& runtime, skein::Pid pool, const std::string& who) {
  const auto visit = skein::start_pool_child(runtime, pool, skein::pool_arguments(who));
  std::printf("%s: %s\n", who.c_str(), visit ? "welcome" : visit.error().text().c_str());
  return visit.has_value();
}

// The pool is the house's only child.
skein::Pid pool_of(skein::Runtime& runtime, skein::Pid house) {
  const auto children = skein::which_children(runtime, house);
  return children && !children->empty() ? children->front().pid : skein::Pid();
}

}  // namespace

int main() {
  skein::RuntimeOptions options;
  options.seed = 1;
  skein::Runtime runtime(options);

  using skein::trees::pool;
  const skein::SupervisorSpec tree = skein::trees::supervisor(  //
      "house", skein::trees::one_for_one, {5, 60s},
      {
          pool("visits", {100, 10s}, skein::pool_child<Visit, std::string>("visit").with(skein::Restart::temporary)),
      });
  const auto house = skein::start_supervisor(runtime, tree);
  if (!house) return 1;
  const skein::Pid visits = pool_of(runtime, house->pid);
  if (!welcome(runtime, visits, "Ada") || !welcome(runtime, visits, "Grace")) return 1;
  const auto before = runtime.process_count();

  runtime.exit(visits, skein::ExitReason::kill());
  runtime.run_ready();
  const auto after = runtime.process_count();
  std::printf("the pool was killed: %u processes before, %u after\n", before, after);

  const skein::Pid again = pool_of(runtime, house->pid);
  const auto count = skein::count_children(runtime, again);
  const bool empty = count && count->active == 0;
  return again != visits && empty && after == before - 2 && welcome(runtime, again, "Barbara") ? 0 : 1;
}
