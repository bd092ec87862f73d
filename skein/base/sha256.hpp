// SHA-256 as a stream whose middle can be saved: the running hash of the journal goes on after a restart where it was.
//
// A Sha256 is a value of one thread. digest() does not end the stream. save() gives canonical bytes: two streams that
// took in the same bytes save the same, however the bytes were cut into updates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace skein::inline v0 {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  static constexpr std::size_t k_saved_bytes = 8 * 4 + 8 + 64;

  Sha256();

  void update(std::string_view bytes);
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] std::string save() const;
  // False when the bytes are not a saved stream; the stream is then unchanged.
  [[nodiscard]] bool load(std::string_view saved);

 private:
  // OpenSSL's SHA256_CTX, kept opaque so that its header stays in one file.
  alignas(8) std::array<unsigned char, 112> state_{};
};

[[nodiscard]] Digest sha256(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);

}  // namespace skein::inline v0
