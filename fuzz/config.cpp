// The config file: whatever it holds, it is read or refused with a line for each fault.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "skein/node/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = skein::node::parse_config(text, "skein.toml");
  if (!config && config.error().describe().empty()) std::abort();
  return 0;
}
