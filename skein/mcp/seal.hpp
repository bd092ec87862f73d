// Texts that go out to a client and come back unchanged or not at all: what is in them stays readable to the client,
// but only who holds the key can make one. For request states, session ids and task handles. Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0::mcp {

class Sealer {
 public:
  explicit Sealer(std::string key) : key_(std::move(key)) {}

  // `purpose` keeps a text that was sealed for one thing from being opened as another.
  [[nodiscard]] std::string seal(std::string_view purpose, std::string_view text) const;
  // Nothing when this key did not seal it for this purpose.
  [[nodiscard]] std::optional<std::string> open(std::string_view purpose, std::string_view sealed) const;

 private:
  [[nodiscard]] std::string tag(std::string_view purpose, std::string_view text) const;

  std::string key_;
};

// Takes as long whatever they hold; only lengths show.
[[nodiscard]] bool equal_secrets(std::string_view left, std::string_view right);

[[nodiscard]] std::string to_base64url(std::string_view bytes);
// Both alphabets, with or without padding; nothing when it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace skein::inline v0::mcp
