// A worker crashes, and its supervisor starts another. Links skein::core alone: neither SQLite nor OpenSSL.
#include <cstdio>
#include <stdexcept>

#include "skein/core.hpp"

struct Divider {
  int handle_call(skein::Self, int by) {
    if (by == 0) throw std::invalid_argument("division by zero");
    return 84 / by;
  }
};

int main() {
  skein::RuntimeOptions options;
  options.seed = 1;  // deterministic, on virtual time: this program does the same at every run
  skein::Runtime runtime(options);
  const auto root = skein::start_supervisor(
      runtime, skein::trees::supervisor("root", skein::trees::one_for_one, {3, std::chrono::seconds(60)},
                                        {skein::named_child<Divider>("divider", "divider")}));
  if (!root) return 1;
  const skein::Pid first = runtime.whereis("divider");
  const auto failed = runtime.call<Divider>(first, 0);
  std::printf("by 0: %s\n", failed.error().text().c_str());
  runtime.run_ready();  // the supervisor restarts it
  const skein::Pid second = runtime.whereis("divider");
  const auto answer = runtime.call<Divider>(second, 2);
  std::printf("by 2: %d\n", answer.value_or(0));
  return second != first && answer == 42 ? 0 : 1;
}
