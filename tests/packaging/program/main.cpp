#include <cstdio>
#include <skein/runtime/runtime.hpp>

struct Echo {
  int handle_call(skein::Self, int number) { return number; }
};

int main() {
  skein::Runtime runtime;
  const auto answer = runtime.call<Echo>(runtime.spawn<Echo>(), 42);
  std::printf("a process answered %d\n", answer.value_or(0));
  return answer.value_or(0) == 42 ? 0 : 1;
}
