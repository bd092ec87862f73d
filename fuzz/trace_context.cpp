// traceparent: whatever is read is written back as a header that reads the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "skein/base/trace_context.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto context = skein::TraceContext::parse(text);
  if (context && skein::TraceContext::parse(context->text()) != context) std::abort();
  return 0;
}
