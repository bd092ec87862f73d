// Child specs for process types: child<T>("id", args...) starts T(args...), linked to the supervisor.
//
// The arguments are copied at every start, so each restart begins from the same values.
#pragma once

#include <any>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "skein/base/type_name.hpp"
#include "skein/runtime/call.hpp"
#include "skein/runtime/inspect.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0 {

// What a process's start was, for its supervisor; for start functions that start the process themselves.
[[nodiscard]] inline ChildStart child_start_of(StartResult result) {
  if (!result) {
    if (result.error().already_started) return ChildStart::already_started(result.error().already_started);
    return ChildStart::error(std::move(result.error().reason));
  }
  return result->ignored() ? ChildStart::ignore() : ChildStart::ok(result->pid);
}

inline Async<ChildStart> wait_for_start(inspect::StartAwaiter starting) {
  StartResult result = co_await starting;
  co_return child_start_of(std::move(result));
}

// Starts T(args...) linked to the supervisor, registered under `name` if that is not empty. An init that does not wait
// runs within the supervisor's turn, and then nothing is left to wait for.
template <class T, class... Args>
[[nodiscard]] ChildStarting start_linked(Self self, std::string_view name, std::uint32_t mailbox_limit,
                                         const Args&... args) {
  SpawnOptions options;
  options.link = true;
  options.init_here = true;
  options.name = name;
  options.mailbox_limit = mailbox_limit;
  const inspect::StartAwaiter starting = self.start<T>(options, args...);
  if (starting.up) return ChildStart::ok(starting.up);
  return wait_for_start(starting);
}

namespace detail {

template <class T, class... Args>
struct Starter {
  std::string name;
  std::uint32_t mailbox_limit = 0;
  std::tuple<Args...> args;

  ChildStarting operator()(Self self, const std::any& /*extra*/) const {
    return std::apply([&](const Args&... each) { return start_linked<T>(self, name, mailbox_limit, each...); }, args);
  }
};

template <class T, class Extra, class... Args>
struct PoolStarter;

template <class T, class... Extra, class... Args>
struct PoolStarter<T, std::tuple<Extra...>, Args...> {
  std::tuple<Args...> args;

  ChildStarting operator()(Self self, const std::any& extra) const {
    const auto* given = std::any_cast<std::tuple<Extra...>>(&extra);
    if (given == nullptr) {
      throw std::invalid_argument("start_child got other arguments than this pool's children take");
    }
    return std::apply(
        [&](const Args&... own) {
          return std::apply(
              [&](const Extra&... each) { return start_linked<T>(self, std::string_view(), 0U, own..., each...); },
              *given);
        },
        args);
  }
};

}  // namespace detail

// Starts T(args...), registered under `name` if that is not empty, with a mailbox of its own size (0: the runtime's).
template <class T, class... Args>
[[nodiscard]] StartFunction named_start_function(std::string name, std::uint32_t mailbox_limit, Args&&... args) {
  return detail::Starter<T, std::decay_t<Args>...>{std::move(name), mailbox_limit,
                                                   std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)};
}

template <class T, class... Args>
[[nodiscard]] StartFunction start_function(Args&&... args) {
  return named_start_function<T>({}, 0, std::forward<Args>(args)...);
}

// A worker of type T; change what is not default: child<T>("id").with(Restart::transient).
template <class T, class... Args>
[[nodiscard]] ChildSpec child(std::string id, Args&&... args) {
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = start_function<T>(std::forward<Args>(args)...);
  spec.what = std::string(type_name<T>());
  return spec;
}

// The same, registered under `name`.
template <class T, class... Args>
[[nodiscard]] ChildSpec named_child(std::string id, std::string name, Args&&... args) {
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = named_start_function<T>(std::move(name), 0, std::forward<Args>(args)...);
  spec.what = std::string(type_name<T>());
  return spec;
}

// The template of a pool whose children are T(args..., extra...); start_child gives pool_arguments(extra...).
template <class T, class... Extra, class... Args>
[[nodiscard]] ChildSpec pool_child(std::string id, Args&&... args) {
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = detail::PoolStarter<T, std::tuple<Extra...>, std::decay_t<Args>...>{
      std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)};
  spec.what = std::string(type_name<T>());
  return spec;
}

// What start_child on a pool passes on. The types must be exactly pool_child's Extra...
template <class... Extra>
[[nodiscard]] std::any pool_arguments(Extra... extra) {
  return std::any(std::tuple<Extra...>(std::move(extra)...));
}

}  // namespace skein::inline v0
