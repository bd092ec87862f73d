// What the runtime knows about a type of process: found from the handlers the class has, at compile time.
//
// A process is any class with some of these members (each may return Async<...> instead and wait with co_await):
//   T(Self, args...) or T(args...)                    its init; an exception is a failed start
//   Init init(Self)                                   a second step that may say ignore or stop, or wait
//   R handle_call(Self, Request)                      answers a call with what it returns
//   void handle_call(Self, Request, Reply<R>)         answers when it likes; Request names R: using Answer = R
//   void handle_cast(Self, Note)
//   void handle_info(Self, Message)                   everything else: send(), Down, Exit, timers
//   void handle_continue(Self, Step)                  runs before any message after self.continue_with(Step)
//   void terminate(Self, ExitReason)                  before the end: on stop, on a crash, and when a trapping process
//                                                     is told to end by its parent; never on kill
//   std::string describe() const                      its state for people
//   void release_memory() noexcept                    called when it has been idle for a while
// The class must be nothrow-destructible. All members run on one thread at a time.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "skein/runtime/async.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0 {

// What init says.
class Init {
 public:
  static Init ok() { return Init(); }
  // Started nothing, and that is fine.
  static Init ignore() {
    Init init;
    init.ignore_ = true;
    return init;
  }
  // The start failed.
  static Init stop(ExitReason reason) {
    Init init;
    init.reason_ = std::move(reason);
    init.stop_ = true;
    return init;
  }
  [[nodiscard]] bool is_ignore() const { return ignore_; }
  [[nodiscard]] bool is_stop() const { return stop_; }
  [[nodiscard]] const ExitReason& reason() const { return reason_; }

 private:
  bool ignore_ = false;
  bool stop_ = false;
  ExitReason reason_;
};

namespace detail {

using HandlerResult = std::coroutine_handle<>;  // a handler's frame that has not started; none: it is done

struct ProcessType {
  std::string_view name;
  std::uint32_t bytes;
  void (*destroy)(void* state) noexcept;
  HandlerResult (*info)(void* state, Self self, MessageNode* node);
  HandlerResult (*terminate)(void* state, Self self, const ExitReason& reason);
  std::string (*describe)(const void* state);
  void (*release)(void* state) noexcept;
};

template <class T>
HandlerResult run_info(void* state, Self self, MessageNode* node) {
  if constexpr (requires(T& t) { t.handle_info(self, Message(node)); }) {
    if constexpr (UnwrapTask<decltype(std::declval<T&>().handle_info(self, Message(node)))>::is_task) {
      return static_cast<T*>(state)->handle_info(self, Message(node)).release();
    } else {
      static_cast<T*>(state)->handle_info(self, Message(node));
    }
  }
  return nullptr;
}

template <class T>
HandlerResult run_terminate(void* state, Self self, const ExitReason& reason) {
  if constexpr (UnwrapTask<decltype(std::declval<T&>().terminate(self, reason))>::is_task) {
    return static_cast<T*>(state)->terminate(self, reason).release();
  } else {
    static_cast<T*>(state)->terminate(self, reason);
    return nullptr;
  }
}

template <class T>
constexpr ProcessType make_process_type() {
  static_assert(std::is_nothrow_destructible_v<T>, "a process's state must be nothrow-destructible");
  static_assert(alignof(T) <= 16, "a process's state may be aligned to 16 bytes at most");
  ProcessType type{};
  type.name = type_name<T>();
  type.bytes = sizeof(T);
  type.destroy = [](void* state) noexcept { static_cast<T*>(state)->~T(); };
  type.info = &run_info<T>;
  if constexpr (requires(T& t, Self self, const ExitReason& reason) { t.terminate(self, reason); }) {
    type.terminate = &run_terminate<T>;
  }
  if constexpr (requires(const T& t) {
                  { t.describe() } -> std::convertible_to<std::string>;
                }) {
    type.describe = [](const void* state) -> std::string { return static_cast<const T*>(state)->describe(); };
  }
  if constexpr (requires(T& t) { t.release_memory(); }) {
    type.release = [](void* state) noexcept { static_cast<T*>(state)->release_memory(); };
  }
  return type;
}

template <class T>
inline constexpr ProcessType k_process_type = make_process_type<T>();

// Records what init said in the process.
void apply_init(Slot& slot, const Init& init);

template <class T>
Async<void> await_init(T* process, Self self) {
  auto pending = process->init(self);
  if constexpr (std::same_as<decltype(pending), Async<Init>>) {
    const Init init = co_await pending;
    apply_init(*self.slot(), init);
  } else {
    co_await pending;
  }
}

template <class T>
inline constexpr bool k_init_waits = false;
template <class T>
  requires requires(T& process, Self self) { process.init(self); }
inline constexpr bool k_init_waits<T> = UnwrapTask<decltype(std::declval<T&>().init(std::declval<Self>()))>::is_task;

template <class T>
HandlerResult begin_init(T* process, Self self) {
  if constexpr (requires { process->init(self); }) {
    using Result = decltype(process->init(self));
    if constexpr (UnwrapTask<Result>::is_task) {
      return await_init(process, self).release();
    } else if constexpr (std::same_as<Result, Init>) {
      apply_init(*self.slot(), process->init(self));
    } else {
      process->init(self);
    }
  }
  return nullptr;
}

template <class T, class Arguments>
inline constexpr std::size_t k_state_bytes = sizeof(T) > sizeof(Arguments) ? sizeof(T) : sizeof(Arguments);

template <class T, class... Args>
HandlerResult boot_process(BootStep step, Core& core, Slot& slot) {
  using Arguments = std::tuple<Args...>;
  // They are moved into a slot that is claimed already; a throw there would lose it.
  static_assert(std::is_nothrow_move_constructible_v<Arguments>,
                "what a process is made with must be nothrow-movable: put it into a std::unique_ptr");
  auto* waiting = std::launder(static_cast<Arguments*>(slot.state));
  if (step == BootStep::discard) {
    waiting->~Arguments();
    return nullptr;
  }
  Arguments arguments(std::move(*waiting));
  waiting->~Arguments();
  slot.boot = nullptr;
  const Self self(core, slot);
  auto* process = std::apply(
      [&](Args&... args) {
        if constexpr (std::is_constructible_v<T, Self, Args&&...>) {
          return new (slot.state) T(self, std::move(args)...);
        } else {
          return new (slot.state) T(std::move(args)...);
        }
      },
      arguments);
  slot.state_alive = true;
  return begin_init(process, self);
}

}  // namespace detail
}  // namespace skein::inline v0
