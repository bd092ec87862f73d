#include "skein/base/must_hold.hpp"

#include <cstdio>
#include <cstdlib>

namespace skein::inline v0 {

void fail_what_must_hold(const char* what, std::source_location where) {
  std::fprintf(stderr,
               "skein: this does not hold: %s (%s:%u in %s). This is a bug: the program ends rather than act on it; "
               "please report it with the lines before this one\n",
               what, where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

}  // namespace skein::inline v0
