// A process that carries out one coroutine for somebody outside, who is answered by it, and ends.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::node {

class Asker {
 public:
  using Body = std::move_only_function<Task<void>(Self)>;

  Asker(Self self, std::unique_ptr<Body> body) : body_(std::move(body)) { self.continue_with<Asker>(Begin{}); }

  struct Begin {};
  Task<void> handle_continue(Self self, Begin) {
    Task<void> running = (*body_)(self);
    co_await running;
    self.stop();
  }

 private:
  std::unique_ptr<Body> body_;
};

// Runs a coroutine function with arguments that it takes by value. When no process can be made the arguments are
// dropped, and with them a Reply, which then answers by itself.
template <class... Params, class... Args>
void ask_in_process(Runtime& runtime, Task<void> (*body)(Self, Params...), Args&&... args) {
  auto held = std::make_unique<Asker::Body>(
      [body, kept = std::tuple<std::decay_t<Params>...>(std::forward<Args>(args)...)](Self self) mutable {
        return std::apply([&](auto&... each) { return body(self, std::move(each)...); }, kept);
      });
  try {
    runtime.spawn<Asker>(std::move(held));
  } catch (const SpawnError&) {
    return;
  }
}

}  // namespace skein::inline v0::node
