#include "skein/dispatch/learned_text.hpp"

#include <fmt/format.h>

#include "skein/base/crc32c.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::string_view k_learned_begins = "skein-learned 1 ";

std::string head_of(std::string_view text) {
  return fmt::format("{}{} {:08x}\n", k_learned_begins, text.size(), crc32c(text));
}

}  // namespace

std::string sealed_learned(std::string_view text) { return head_of(text).append(text); }

std::expected<std::string, std::string> opened_learned(std::string_view bytes) {
  if (bytes.size() > k_learned_bytes_max) return std::unexpected("it is too long");
  if (!bytes.starts_with(k_learned_begins)) return std::unexpected("it does not begin with 'skein-learned 1'");
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::unexpected("its first line is cut off");
  const std::string_view text = bytes.substr(end + 1);
  // A head has one form only, so it need not be read.
  if (bytes.substr(0, end + 1) != head_of(text)) return std::unexpected("its length or its checksum is wrong");
  QLearning table;
  if (const auto read = table.restore(text); !read) return std::unexpected(read.error());
  return std::string(text);
}

}  // namespace skein::inline v0::dispatch
