// A text that most records do not have: the size of a pointer, and no more while it is empty. A value; moved, not
// copied. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace skein::inline v0 {

class RareText {
 public:
  RareText() = default;
  RareText(std::string text)  // NOLINT(google-explicit-constructor): it stands in for a std::string
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}

  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  [[nodiscard]] const std::string& text() const {
    static const std::string k_nothing;
    return text_ ? *text_ : k_nothing;
  }

 private:
  std::unique_ptr<const std::string> text_;
};

}  // namespace skein::inline v0
