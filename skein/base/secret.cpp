// Beside sha256.cpp in a unity build, whose functions are marked as deprecated.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "skein/base/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <stdexcept>

namespace skein::inline v0 {

std::string random_secret() {
  Digest random{};
  static_assert(sizeof(random) == k_secret_bytes);
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw std::runtime_error("the system gave no random bytes");
  }
  return to_hex(random);
}

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest out{};
  unsigned int size = 0;
  const auto* made = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  if (made == nullptr || size != out.size()) throw std::runtime_error("HMAC failed");
  return out;
}

bool equal_digests(const Digest& one, const Digest& other) {
  return ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace skein::inline v0
