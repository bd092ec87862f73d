#include "skein/archive/words.hpp"

#include <algorithm>

namespace skein::inline v0::archive {
namespace {

bool in_word(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::vector<std::string> words_of(std::string_view text, std::size_t at_most) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size() && words.size() < at_most;) {
    if (!in_word(text[at])) {
      ++at;
      continue;
    }
    std::string word;
    while (at < text.size() && in_word(text[at])) word.push_back(lower(text[at++]));
    words.push_back(std::move(word));
  }
  return words;
}

bool has_words(const std::vector<std::string>& words, std::initializer_list<std::string_view> texts) {
  std::vector<std::string> all;
  for (const auto text : texts) {
    auto some = words_of(text.substr(0, k_searched_bytes), k_searched_bytes);
    std::ranges::move(some, std::back_inserter(all));
  }
  return std::ranges::all_of(words, [&](const std::string& word) {
    return std::ranges::any_of(all, [&](const std::string& each) { return each.starts_with(word); });
  });
}

}  // namespace skein::inline v0::archive
