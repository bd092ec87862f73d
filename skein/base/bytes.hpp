// Little-endian reading and writing of byte strings: the alphabet of every format on disk.
//
// ByteWriter appends to a string it is given. ByteReader walks a view and never reads past its end: the first read that
// does not fit sets a sticky failure, after which every read answers zero or empty. Check ok() once, at the end.
// Neither is shared between threads.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace skein::inline v0 {

static_assert(std::endian::native == std::endian::little, "the formats on disk are little-endian, as is the machine");

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void zeros(std::size_t n) { out_.append(n, '\0'); }
  // A 32-bit length and then the bytes.
  void blob(std::string_view bytes) {
    u32(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }

 private:
  template <class T>
  void put(T v) {
    char b[sizeof(T)];
    std::memcpy(b, &v, sizeof(T));
    out_.append(b, sizeof(T));
  }

  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t u8() { return get<std::uint8_t>(); }
  std::uint32_t u32() { return get<std::uint32_t>(); }
  std::uint64_t u64() { return get<std::uint64_t>(); }
  std::string_view raw(std::size_t n) {
    if (n > in_.size()) {
      fail();
      return {};
    }
    const auto bytes = in_.substr(0, n);
    in_.remove_prefix(n);
    return bytes;
  }
  std::string_view blob() { return raw(u32()); }

  // Marks the input as bad, for a caller that read a value which makes no sense.
  void fail() {
    ok_ = false;
    in_ = {};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return in_.size(); }
  // True when everything was read and nothing was missing.
  [[nodiscard]] bool done() const { return ok_ && in_.empty(); }

 private:
  template <class T>
  T get() {
    T v{};
    if (in_.size() < sizeof(T)) {
      fail();
      return v;
    }
    in_.copy(reinterpret_cast<char*>(&v), sizeof(T));
    in_.remove_prefix(sizeof(T));
    return v;
  }

  std::string_view in_;
  bool ok_ = true;
};

// Overwrites part of a string that was written before, for a checksum known only at the end.
inline void put_u32_at(std::string& out, std::size_t at, std::uint32_t v) {
  std::memcpy(out.data() + at, &v, sizeof v);
}

}  // namespace skein::inline v0
