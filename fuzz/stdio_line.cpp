// What an agent's OS process writes: whatever is taken of it is handed on as JSON, on one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "skein/agent/stdio_protocol.hpp"
#include "skein/base/json_text.hpp"

namespace {

constexpr std::size_t k_depth = 16;
constexpr std::size_t k_line_bytes = 512;

void check_forwarded(std::string_view json) {
  if (json.empty()) return;
  if (skein::check_json_text(json, k_depth)) std::abort();
  if (skein::on_one_line(json).find('\n') != std::string::npos) std::abort();
}

bool take_line(std::string_view line) {
  const auto message = skein::agent::parse_stdio_line(line, k_depth);
  if (!message) return !message.error().empty();
  if (const auto* result = std::get_if<skein::agent::StdioResult>(&*message)) check_forwarded(result->result);
  if (const auto* progress = std::get_if<skein::agent::StdioProgress>(&*message)) check_forwarded(progress->mark);
  if (const auto* error = std::get_if<skein::agent::StdioError>(&*message)) {
    check_forwarded(skein::quoted_json(error->failure.message));
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  skein::agent::LineSplitter splitter(k_line_bytes);
  // In two pieces, so that lines are cut too.
  const std::size_t half = size / 2;
  if (splitter.feed(text.substr(0, half), take_line)) static_cast<void>(splitter.feed(text.substr(half), take_line));
  return 0;
}
