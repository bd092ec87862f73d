// Answers of operations cut to a size that one response can have. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <expected>
#include <string>

#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {

inline constexpr std::uint64_t k_page_max = 1000;
inline constexpr std::uint64_t k_tree_depth_max = 32;
inline constexpr std::uint64_t k_tree_children_max = 1000;

// Params that the operation does not know: how much is shown. They are taken out of `params`.
struct Shown {
  std::uint64_t limit = 100;
  std::string cursor{};
  std::string swarm{};
  std::uint64_t depth = k_tree_depth_max;
  std::uint64_t children = 100;
};
[[nodiscard]] std::expected<Shown, operations::Error> take_shown(const Route& route, json::object& params);

// What of an operation's answer is shown.
[[nodiscard]] json::value shown_of(const Route& route, const Shown& shown, json::value answer);

}  // namespace skein::inline v0::rest
