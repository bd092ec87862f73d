#include "skein/mcp/seal.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_tag_bytes = 16;
constexpr std::string_view k_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::optional<std::uint32_t> value_of(char digit) {
  if (digit == '+') digit = '-';
  if (digit == '/') digit = '_';
  const std::size_t at = k_alphabet.find(digit);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

}  // namespace

std::string Sealer::tag(std::string_view purpose, std::string_view text) const {
  // The purpose ends where a byte is that no purpose has.
  std::string whole(purpose);
  whole += '\0';
  whole += text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  const auto* made = ::HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                            reinterpret_cast<const unsigned char*>(whole.data()), whole.size(), out.data(), &size);
  if (made == nullptr || size < k_tag_bytes) throw std::runtime_error("HMAC failed");
  return {reinterpret_cast<const char*>(out.data()), k_tag_bytes};
}

std::string Sealer::seal(std::string_view purpose, std::string_view text) const {
  return to_base64url(tag(purpose, text) + std::string(text));
}

std::optional<std::string> Sealer::open(std::string_view purpose, std::string_view sealed) const {
  auto bytes = from_base64(sealed);
  if (!bytes || bytes->size() < k_tag_bytes) return std::nullopt;
  std::string text = bytes->substr(k_tag_bytes);
  if (!equal_secrets(std::string_view(*bytes).substr(0, k_tag_bytes), tag(purpose, text))) return std::nullopt;
  return text;
}

bool equal_secrets(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string to_base64url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char each : bytes) {
    held = (held << 8U) | static_cast<unsigned char>(each);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += k_alphabet[(held >> bits) & 63U];
    }
  }
  if (bits > 0) text += k_alphabet[(held << (6U - bits)) & 63U];
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char each : text) {
    const auto value = value_of(each);
    if (!value) return std::nullopt;
    held = (held << 6U) | *value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((held >> bits) & 255U);
  }
  // Bits that say nothing must be zero, so that a text has one form.
  if ((held & ((1U << bits) - 1U)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace skein::inline v0::mcp
