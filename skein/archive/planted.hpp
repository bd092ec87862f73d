// Bugs planted on purpose in the archive, so that the simulator can prove it would find them; as journal/planted.hpp.
#pragma once

namespace skein::inline v0::archive {

enum class Bug {
  archived_before_insert,
  archived_before_seal,
  discord_overlooked,
  numbers_begin_again,
  row_replaced,
  damaged_row_served,
  loss_not_counted,
  retention_by_one_look,
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::archive
