// The streaming functions of OpenSSL 3's low-level interface are marked as deprecated, but only they let the state in
// the middle of a stream be saved, and they cost a third of EVP's for short updates.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "skein/base/sha256.hpp"

#include <openssl/sha.h>

#include <cstring>

#include "skein/base/bytes.hpp"

namespace skein::inline v0 {
namespace {

SHA256_CTX* ctx(std::array<unsigned char, 112>& state) { return reinterpret_cast<SHA256_CTX*>(state.data()); }

const SHA256_CTX* ctx(const std::array<unsigned char, 112>& state) {
  return reinterpret_cast<const SHA256_CTX*>(state.data());
}

}  // namespace

static_assert(sizeof(SHA256_CTX) == 112 && alignof(SHA256_CTX) <= 8);

Sha256::Sha256() { SHA256_Init(ctx(state_)); }

void Sha256::update(std::string_view bytes) { SHA256_Update(ctx(state_), bytes.data(), bytes.size()); }

Digest Sha256::digest() const {
  auto copy = state_;
  Digest out{};
  SHA256_Final(out.data(), ctx(copy));
  return out;
}

std::string Sha256::save() const {
  const SHA256_CTX* c = ctx(state_);
  std::string out;
  out.reserve(k_saved_bytes);
  ByteWriter w(out);
  for (const auto word : c->h) w.u32(word);
  w.u64((static_cast<std::uint64_t>(c->Nh) << 32U) | c->Nl);
  // Only the first num bytes of the block mean anything; the rest is written as zeros to be canonical.
  std::array<char, 64> block{};
  std::memcpy(block.data(), c->data, c->num);
  w.raw({block.data(), block.size()});
  return out;
}

bool Sha256::load(std::string_view saved) {
  if (saved.size() != k_saved_bytes) return false;
  ByteReader r(saved);
  Sha256 fresh;
  SHA256_CTX* c = ctx(fresh.state_);
  for (auto& word : c->h) word = r.u32();
  const std::uint64_t bits = r.u64();
  if (bits % 8 != 0) return false;
  c->Nh = static_cast<SHA_LONG>(bits >> 32U);
  c->Nl = static_cast<SHA_LONG>(bits & 0xFFFFFFFFU);
  c->num = static_cast<unsigned>((bits / 8) % 64);
  std::memcpy(c->data, r.raw(64).data(), 64);
  *this = fresh;
  return true;
}

Digest sha256(std::string_view bytes) {
  Sha256 s;
  s.update(bytes);
  return s.digest();
}

std::string to_hex(const Digest& digest) {
  static constexpr std::string_view k_digits = "0123456789abcdef";
  std::string out;
  for (const auto byte : digest) {
    out.push_back(k_digits[byte >> 4U]);
    out.push_back(k_digits[byte & 15U]);
  }
  return out;
}

}  // namespace skein::inline v0
