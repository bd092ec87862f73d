// A server that counts, called from main and from another process; it crashes, and its caller learns why.
#include <cstdio>
#include <stdexcept>

#include "skein/runtime/runtime.hpp"

using skein::Async;
using skein::Self;

struct Add {
  int amount = 0;
};
struct Divide {
  int by = 1;
};

struct Counter {
  int value;
  explicit Counter(int start) : value(start) {}

  int handle_call(Self, Add request) { return value += request.amount; }
  int handle_call(Self, Divide request) {
    if (request.by == 0) throw std::invalid_argument("division by zero");
    return value /= request.by;
  }
};

// A coroutine that runs as a process: it waits for answers without holding a thread.
Async<int> use(Self self, skein::Pid counter) {
  auto adding = self.call<Counter>(counter, Add{40});
  const auto sum = co_await adding;
  const auto watch = self.monitor(counter);
  auto dividing = self.call<Counter>(counter, Divide{0});
  const auto failed = co_await dividing;
  std::printf("the call failed: %s\n", failed.error().text().c_str());
  auto ending = self.down(watch);
  const auto reason = co_await ending;
  std::printf("and its monitor says: %s\n", reason->text().c_str());
  co_return sum.value_or(0);
}

int main() {
  skein::Runtime runtime;
  const skein::Pid counter = runtime.spawn<Counter>(1);
  const auto two = runtime.call<Counter>(counter, Add{1});
  std::printf("from main: %d\n", two.value_or(0));
  const auto sum = runtime.run(&use, counter);
  std::printf("from a process: %d\n", sum.value_or(0));
  return sum.value_or(0) == 42 ? 0 : 1;
}
