// What GCC 12 makes of a temporary inside a co_await expression: counts how often it is destroyed. For
// docs/adr/0010-compiler.md. Not part of the build; prints 'made N, destroyed N'.
//
//   g++ -std=c++23 bench/adr/gcc12_await.cpp -o build/gcc12_await && build/gcc12_await
//   clang++-19 -std=c++23 bench/adr/gcc12_await.cpp -o build/clang19_await && build/clang19_await
#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

namespace {

int made = 0;
int destroyed = 0;

struct Counted {
  Counted() { ++made; }
  Counted(const Counted&) { ++made; }
  Counted(Counted&&) noexcept { ++made; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { ++destroyed; }
  int value = 1;
};

struct Request {
  int amount;
  Counted name{};
};

struct Done {
  struct promise_type {
    Done get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct Call {
  Request request;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
  int await_resume() const noexcept { return request.amount; }
};

Call call(Request request) { return Call{std::move(request)}; }

void report(const char* what) {
  std::printf("%-34s made %d, destroyed %d%s\n", what, made, destroyed, made == destroyed ? "" : "  <- wrong");
  made = destroyed = 0;
}

Done braced_temporary() { co_await call(Request{1}); }
Done in_a_conditional(bool yes) {
  const int got = yes ? co_await call(Request{1}) : 2;
  (void)got;
}
Done named() {
  auto calling = call(Request{1});
  co_await calling;
}

Done lambda_temporary() {
  const auto run = [](auto f) { return call(Request{f().value}); };
  co_await run([kept = Counted()] { return kept; });
}

}  // namespace

int main() {
  braced_temporary();
  report("a braced temporary");
  in_a_conditional(true);
  report("in a ?: expression");
  lambda_temporary();
  report("a capturing lambda as argument");
  named();
  report("named first");
  return 0;
}
