// The destination of an operation's answer. It is called exactly once: with the answer, or, if it is dropped unanswered
// because something is being taken down, by its destructor, with `stopped`. May be handed from thread to thread.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

template <class T>
class Reply {
 public:
  using Fn = std::move_only_function<void(Result<T>)>;

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Reply> && std::constructible_from<Fn, F>)
  Reply(F&& fn) : fn_(std::forward<F>(fn)) {}  // NOLINT(google-explicit-constructor): callers pass a lambda
  Reply(Reply&& other) noexcept : fn_(std::exchange(other.fn_, nullptr)), drop_(other.drop_) {}
  Reply& operator=(Reply&&) = delete;
  ~Reply() {
    if (!fn_) return;
    auto error = drop_ == Code::overloaded ? overloaded("too many wait already")
                                           : error_of(journal::Outcome::stopped, "the answer was dropped");
    fn_(std::unexpected(std::move(error)));
  }

  void operator()(Result<T> result) { std::exchange(fn_, nullptr)(std::move(result)); }
  void fail(Error error) { (*this)(std::unexpected(std::move(error))); }
  // Says what it means when this is dropped from here on.
  void when_dropped(Code code) { drop_ = code; }

 private:
  Fn fn_;
  Code drop_ = Code::stopped;
};

}  // namespace skein::inline v0::operations
