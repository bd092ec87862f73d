// Secrets: made from the system's randomness, kept as digests, compared in constant time. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "skein/base/sha256.hpp"

namespace skein::inline v0 {

inline constexpr std::size_t k_secret_bytes = 32;

// 256 random bits in hex. Throws std::runtime_error when the system has none.
[[nodiscard]] std::string random_secret();

[[nodiscard]] Digest hmac_sha256(std::string_view key, std::string_view text);

// Takes as long wherever they differ.
[[nodiscard]] bool equal_digests(const Digest& one, const Digest& other);

}  // namespace skein::inline v0
