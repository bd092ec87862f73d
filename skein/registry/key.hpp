// The keys of entries: a kind and a text, or a kind, a process and a text, as zero-padded words with their hash.
//
// A value on the stack. The text must have been checked against k_registry_text_max before.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "skein/registry/registry_types.hpp"

namespace skein::inline v0::detail {

enum class KeyKind : std::uint8_t {
  agent = 1,
  counter,  // from here to resource: one per process and text
  member,
  resource,
  capability_set,
  counter_set,
  group_set,
  resource_set,
};

class Key {
  static_assert(std::endian::native == std::endian::little);

 public:
  static constexpr std::size_t k_words = 1 + (k_registry_text_max + 7) / 8;

  Key(KeyKind kind, std::string_view text) { build(kind, 0, text); }
  Key(KeyKind kind, Pid scope, std::string_view text) {
    words_[0] = scope.bits();
    build(kind, 1, text);
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  // Where in a shard to begin to look; which shard it is has no part in it. Texts that differ in the last four bits
  // only are neighbours, because names are often numbered and asked for in order.
  [[nodiscard]] std::uint32_t tag() const { return static_cast<std::uint32_t>(hash_ >> 32U); }
  // Bytes of text and kind in one word; with the words it is the whole key.
  [[nodiscard]] std::uint32_t shape() const { return shape_; }
  [[nodiscard]] KeyKind kind() const { return static_cast<KeyKind>(shape_ >> 16U); }
  // Without the scope; a view into this key.
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(words_ + (is_scoped(shape_) ? 1 : 0)), text_bytes(shape_)};
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint64_t word(std::size_t i) const { return words_[i]; }

  [[nodiscard]] static bool is_scoped(std::uint32_t shape) {
    const auto kind = static_cast<KeyKind>(shape >> 16U);
    return kind == KeyKind::counter || kind == KeyKind::member || kind == KeyKind::resource;
  }
  [[nodiscard]] static std::size_t text_bytes(std::uint32_t shape) { return shape & 0xffffU; }

 private:
  void build(KeyKind kind, std::size_t begin, std::string_view text) {
    assert(text.size() <= k_registry_text_max);
    count_ = begin + (text.size() + 7) / 8;
    copy(begin, text);
    shape_ = static_cast<std::uint32_t>(text.size()) | (static_cast<std::uint32_t>(kind) << 16U);
    std::uint64_t mixed = fold(shape_ ^ 0x2d358dccaa6c78a5ULL, 0x8bb84b93962eacc9ULL);
    const std::uint64_t nibble = text.empty() ? 0 : static_cast<unsigned char>(text.back()) & 15U;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint64_t left_out = i + 1 == count_ ? nibble << (8 * ((text.size() - 1) % 8)) : 0;
      mixed = fold(mixed ^ words_[i] ^ left_out, 0x4b33a62ed433d4a3ULL ^ (i + 1));
    }
    hash_ = fold(mixed, 0x9e3779b97f4a7c15ULL) + (nibble << 32U);
  }
  // Without a call for the few bytes most texts have.
  void copy(std::size_t begin, std::string_view text) {
    const char* from = text.data();
    std::size_t left = text.size();
    std::uint64_t* to = words_ + begin;
    for (; left >= 8; left -= 8, from += 8) std::memcpy(to++, from, 8);
    if (left == 0) return;
    std::uint64_t last = 0;
    if (text.size() >= 8) {
      std::memcpy(&last, text.data() + text.size() - 8, 8);
      last >>= 8 * (8 - left);
    } else {
      for (std::size_t i = 0; i < left; ++i) last |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    }
    *to = last;
  }
  // Both halves of the product.
  [[nodiscard]] static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }

  __extension__ using Wide = unsigned __int128;
  std::uint64_t hash_ = 0;
  std::size_t count_ = 0;
  std::uint32_t shape_ = 0;
  std::uint64_t words_[k_words];  // the first count_ are set
};

}  // namespace skein::inline v0::detail
