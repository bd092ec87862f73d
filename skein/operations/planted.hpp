// Bugs planted on purpose in the operations, so that the simulator can prove it would find them; as
// journal/planted.hpp.
#pragma once

namespace skein::inline v0::operations {

enum class Bug {
  acknowledged_before_commit,
  doubt_forgotten,
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::operations
