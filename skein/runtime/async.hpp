// Async<T>: the return type of a coroutine handler and of the coroutines it awaits.
//
// Lazy: it runs when awaited, or when the runtime starts a handler's. It belongs to one process and is resumed by
// that process alone. Destroying it (the process is killed while it waits) destroys everything it waits for. Frames
// come from the pools. An exception leaves through co_await, and out of the handler it is the process's crash.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "skein/runtime/pool.hpp"

namespace skein::inline v0 {

template <class T = void>
class Async;

namespace detail {

struct TaskPromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr error;

  static void* operator new(std::size_t bytes) { return take_bytes(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept { give_bytes(memory, bytes); }

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      const std::coroutine_handle<> next = done.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;
  Async<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Async<void> get_return_object();
  void return_void() const noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

template <class T>
class [[nodiscard]] Async {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Async() = default;
  explicit Async(Handle handle) : handle_(handle) {}
  Async(Async&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Async& operator=(Async&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Async(const Async&) = delete;
  Async& operator=(const Async&) = delete;
  ~Async() {
    if (handle_) handle_.destroy();
  }

  // For the runtime: the caller owns the frame from here on.
  [[nodiscard]] Handle release() { return std::exchange(handle_, nullptr); }

  struct Awaiter {
    Handle handle;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
      handle.promise().continuation = waiting;
      return handle;
    }
    T await_resume() { return handle.promise().take(); }
  };
  // The task stays alive in the awaiting frame until it is done.
  Awaiter operator co_await() & noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  Handle handle_ = nullptr;
};

template <class T>
Async<T> detail::TaskPromise<T>::get_return_object() {
  return Async<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Async<void> detail::TaskPromise<void>::get_return_object() {
  return Async<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

namespace detail {
template <class T>
struct UnwrapTask {
  static constexpr bool is_task = false;
  using type = T;
};
template <class T>
struct UnwrapTask<Async<T>> {
  static constexpr bool is_task = true;
  using type = T;
};
}  // namespace detail

}  // namespace skein::inline v0
