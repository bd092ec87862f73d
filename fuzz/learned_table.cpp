// Learned tables and the file they are kept in: what is taken is saved as a text that is taken again and the same; what
// is refused changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "skein/dispatch/learned_text.hpp"
#include "skein/routing/adaptive_retry.hpp"
#include "skein/routing/q_learning.hpp"

namespace {

template <class Table>
void check(std::string_view text) {
  Table table;
  const std::string before = table.save();
  const bool taken = table.restore(text).has_value();
  const std::string after = table.save();
  if (!taken && after != before) std::abort();
  Table again;
  if (!again.restore(after) || again.save() != after) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<skein::QLearning>(text);
  check<skein::AdaptiveRetry>(text);
  // A file has one form: what is taken is what would be written.
  if (const auto opened = skein::dispatch::opened_learned(text)) {
    if (skein::dispatch::sealed_learned(*opened) != text) std::abort();
  }
  return 0;
}
