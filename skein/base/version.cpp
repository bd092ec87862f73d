#include "skein/base/version.hpp"

namespace skein::inline v0 {

std::string_view version() noexcept { return SKEIN_VERSION; }

}  // namespace skein::inline v0
