#include "skein/base/thread_name.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>

namespace skein::inline v0 {

void name_this_thread(std::string_view name) {
  std::array<char, 16> text{};  // with the zero at its end: what Linux takes
  std::ranges::copy(name.substr(0, text.size() - 1), text.begin());
  static_cast<void>(::pthread_setname_np(::pthread_self(), text.data()));
}

}  // namespace skein::inline v0
