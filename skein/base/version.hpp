// The version this library was built as. Callable from any thread, at any time.
#pragma once

#include <string_view>

namespace skein::inline v0 {

// "major.minor.patch", as CMake's project() states it.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace skein::inline v0
