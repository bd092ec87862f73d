// The file format of a learned table: one line with a version, the length and a checksum, then the text of
// QLearning::save(). Pure functions.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "skein/routing/q_learning.hpp"

namespace skein::inline v0::dispatch {

// Of the whole file; one that is longer is none of ours.
inline constexpr std::size_t k_learned_bytes_max = QLearning::k_text_bytes_max + 64;

[[nodiscard]] std::string sealed_learned(std::string_view text);
// The text, or what is wrong with the bytes, for people.
[[nodiscard]] std::expected<std::string, std::string> opened_learned(std::string_view bytes);

}  // namespace skein::inline v0::dispatch
