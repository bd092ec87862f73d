// Bugs planted on purpose in the archiver, so that the simulator can prove it would find them; as journal/planted.hpp.
#pragma once

namespace skein::inline v0::archive {

enum class Bug {
  archived_before_insert,
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::archive
