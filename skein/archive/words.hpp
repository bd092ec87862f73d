// Words of a text, as the search understands them: runs of letters and digits, and of whatever is not ASCII. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::archive {

inline constexpr std::size_t k_words_max = 16;           // of one search; more are passed over
inline constexpr std::size_t k_searched_bytes = 16'384;  // of each text: the rest is kept and not searched

// Lower case (ASCII), at most `at_most`.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text, std::size_t at_most);

// True when every one of the words begins a word of one of the texts.
[[nodiscard]] bool has_words(const std::vector<std::string>& words, std::initializer_list<std::string_view> texts);

}  // namespace skein::inline v0::archive
