// Names of threads, as `ps -L`, `top -H` and debuggers show them. From any thread, for itself.
#pragma once

#include <string_view>

namespace skein::inline v0 {

// Linux keeps the first 15 bytes.
void name_this_thread(std::string_view name);

}  // namespace skein::inline v0
