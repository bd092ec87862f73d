// One line of a dispatch script, taken apart: words, KEY=VALUE options, texts in quotes. A value; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::sim {

// What is wrong with the line at hand.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DispatchLine {
 public:
  // Throws BadLine.
  explicit DispatchLine(std::string_view text);

  [[nodiscard]] std::size_t words() const { return words_.size(); }
  // Throws BadLine when there are not so many.
  [[nodiscard]] const std::string& word(std::size_t at) const;
  [[nodiscard]] bool is(std::size_t at, std::string_view word) const {
    return at < words_.size() && words_[at] == word;
  }

  // Each option is asked for once; they throw BadLine for a value that makes no sense.
  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  [[nodiscard]] std::vector<std::string> list(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key);
  [[nodiscard]] std::optional<Duration> time(std::string_view key);
  // Those that were not asked for.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& rest() const { return options_; }
  // Throws BadLine when there is one, or a word beyond so many.
  void ends_after(std::size_t words) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string, std::less<>> options_;
};

[[nodiscard]] std::uint64_t number_in(std::string_view text);
[[nodiscard]] Duration time_in(std::string_view text);

}  // namespace skein::sim
