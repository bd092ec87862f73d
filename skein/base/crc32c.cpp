#include "skein/base/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace skein::inline v0 {
namespace {

constexpr std::uint32_t k_polynomial = 0x82F63B78U;  // reflected
using Table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Table make_table() {
  Table t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? (c >> 1U) ^ k_polynomial : c >> 1U;
    t[0][i] = c;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (std::size_t k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8U) ^ t[0][t[k - 1][i] & 0xFFU];
  }
  return t;
}

constexpr Table k_table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes, std::uint32_t so_far) {
  std::uint64_t crc = ~so_far;
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (; n > 0; ++p, --n) crc32 = _mm_crc32_u8(crc32, static_cast<unsigned char>(*p));
  return ~crc32;
}

bool has_sse42() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t so_far) {
  std::uint32_t crc = ~so_far;
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (unsigned k = 0; k < 8; ++k) crc ^= k_table[7 - k][(word >> (8U * k)) & 0xFFU];
  }
  for (; n > 0; ++p, --n) crc = (crc >> 8U) ^ k_table[0][(crc ^ static_cast<unsigned char>(*p)) & 0xFFU];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
#if defined(__x86_64__)
  if (has_sse42()) return crc32c_sse42(bytes, so_far);
#endif
  return crc32c_portable(bytes, so_far);
}

}  // namespace skein::inline v0
