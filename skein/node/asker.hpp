// Processes that run one coroutine each for an outside caller, answer that caller, and end. They are children
// of a pool under transports_sup; the desk takes requests, from any thread, and starts them without blocking anybody.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "skein/runtime/runtime.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_askers_name = "askers";  // registered: the pool
inline constexpr std::string_view k_asker_desk_name = "asker_desk";

class Asker {
 public:
  using Body = std::move_only_function<Async<void>(Self)>;

  Asker(Self self, std::shared_ptr<Body> body) : body_(std::move(body)) { self.continue_with<Asker>(Begin{}); }

  struct Begin {};
  Async<void> handle_continue(Self self, Begin) {
    Async<void> running = (*body_)(self);
    co_await running;
    self.stop();
  }

 private:
  std::shared_ptr<Body> body_;
};

// The template of the pool.
[[nodiscard]] ChildSpec asker_template();

class AskerDesk {
 public:
  struct Ask {
    std::shared_ptr<Asker::Body> body;
  };

  explicit AskerDesk(Self) {}
  Async<void> handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  std::uint64_t started_ = 0;
  std::uint64_t failed_ = 0;
};

// Runs a coroutine function with arguments that it takes by value. When no process can be made the arguments are
// dropped, and with them a Reply, which then answers by itself.
template <class... Params, class... Args>
void ask_in_process(Runtime& runtime, Async<void> (*body)(Self, Params...), Args&&... args) {
  auto held = std::make_shared<Asker::Body>(
      [body, kept = std::tuple<std::decay_t<Params>...>(std::forward<Args>(args)...)](Self self) mutable {
        return std::apply([&](auto&... each) { return body(self, std::move(each)...); }, kept);
      });
  runtime.send(runtime.whereis(k_asker_desk_name), AskerDesk::Ask{std::move(held)});
}

}  // namespace skein::inline v0::node
