// The bytes of commands and snapshots: varints, texts with their length before them, lists with their count before
// them.
//
// Writer and Reader have the same functions, so that one description of a structure (see describe() in op_codec.cpp and
// snapshot.cpp) both writes and reads it. A Reader never reads past its end; the first thing that makes no sense sets a
// sticky failure. Every value has one form only: numbers in the shortest, maps in order. Neither is shared by threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "skein/ledger/command.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

class Writer {
 public:
  static constexpr bool k_reads = false;
  static constexpr std::size_t k_varint_bytes = 10;

  explicit Writer(std::string& out) : out_(out) {}

  [[gnu::always_inline]] void byte(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  template <std::unsigned_integral T>
  [[gnu::always_inline]] void number(const T& value) {
    auto v = static_cast<std::uint64_t>(value);
    if (v < 0x80U) return byte(static_cast<std::uint8_t>(v));
    char bytes[k_varint_bytes];
    std::size_t size = 0;
    for (; v >= 0x80U; v >>= 7U) bytes[size++] = static_cast<char>(v | 0x80U);
    bytes[size++] = static_cast<char>(v);
    out_.append(bytes, size);
  }
  void signed_number(const std::int64_t& v) {
    number((static_cast<std::uint64_t>(v) << 1U) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void flag(bool v) { byte(v ? 1 : 0); }
  template <class E>
  void choice(E v, E, E) {
    byte(static_cast<std::uint8_t>(v));
  }
  void id(const TaskId& v) {
    char bytes[16];
    std::memcpy(bytes, &v.high, 8);
    std::memcpy(bytes + 8, &v.low, 8);
    out_.append(bytes, sizeof bytes);
  }
  void some_id(const TaskId& v) { id(v); }
  void text(std::string_view v) {
    number(v.size());
    out_.append(v);
  }
  void body(const Body& v) { text(view_of(v)); }
  template <class List, class Each>
  void list(const List& v, std::uint64_t, Each each) {
    number(v.size());
    for (const auto& x : v) each(*this, x);
  }
  void fields(const Fields& v) {
    number(v.size());
    for (const auto& [name, value] : v) {
      text(name);
      text(value);
    }
  }
  void raw(std::string_view bytes) { out_.append(bytes); }

 private:
  std::string& out_;
};

class Reader {
 public:
  static constexpr bool k_reads = true;

  explicit Reader(std::string_view in) : at_(in.data()), end_(in.data() + in.size()) {}

  [[gnu::always_inline]] std::uint8_t byte() {
    if (at_ == end_) {
      fail();
      return 0;
    }
    return static_cast<std::uint8_t>(*at_++);
  }
  template <std::unsigned_integral T>
  [[gnu::always_inline]] void number(T& out) {
    std::uint64_t v = byte();
    if (v >= 0x80U) v = rest_of_number(v & 0x7FU);
    if (v > std::numeric_limits<T>::max()) fail();
    out = static_cast<T>(v);
  }
  void signed_number(std::int64_t& out) {
    std::uint64_t v = 0;
    number(v);
    out = static_cast<std::int64_t>((v >> 1U) ^ (~(v & 1U) + 1U));
  }
  void flag(bool& out) {
    const auto v = byte();
    if (v > 1) fail();
    out = v == 1;
  }
  template <class E>
  void choice(E& out, E first, E last) {
    const auto v = byte();
    if (v < static_cast<std::uint8_t>(first) || v > static_cast<std::uint8_t>(last)) {
      fail();
      return;
    }
    out = static_cast<E>(v);
  }
  void id(TaskId& out) {
    if (left() < 16) {
      fail();
      return;
    }
    std::memcpy(&out.high, at_, 8);
    std::memcpy(&out.low, at_ + 8, 8);
    at_ += 16;
  }
  // One that must not be zero.
  void some_id(TaskId& out) {
    id(out);
    if (out.none()) fail();
  }
  std::string_view raw(std::uint64_t n) {
    if (n > left()) {
      fail();
      return {};
    }
    const std::string_view bytes(at_, static_cast<std::size_t>(n));
    at_ += n;
    return bytes;
  }
  std::string_view view() {
    std::uint64_t n = 0;
    number(n);
    return raw(n);
  }
  void text(std::string& out) { out = view(); }
  void body(Body& out) { out = body_of(view()); }
  template <class List, class Each>
  void list(List& out, std::uint64_t at_most, Each each) {
    std::uint64_t n = 0;
    number(n);
    if (n > at_most) fail();
    out.clear();
    for (std::uint64_t i = 0; i < n && ok_; ++i) each(*this, out.emplace_back());
  }
  void fields(Fields& out) {
    std::uint64_t n = 0;
    number(n);
    out.clear();
    for (std::uint64_t i = 0; i < n && ok_; ++i) {
      const auto name = view();
      const auto value = view();
      if (!out.empty() && out.rbegin()->first >= name) fail();
      if (ok_) out.emplace_hint(out.end(), name, value);
    }
  }

  void fail() {
    ok_ = false;
    at_ = end_;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool done() const { return ok_ && at_ == end_; }

 private:
  std::uint64_t rest_of_number(std::uint64_t low) {
    std::uint64_t v = low;
    for (unsigned shift = 7; shift < 64; shift += 7) {
      const std::uint64_t b = byte();
      if (!ok_) return 0;
      // The tenth byte has room for one bit; a last byte of zero means that a shorter form was not taken.
      if ((shift == 63 && b > 1) || b == 0) break;
      v |= (b & 0x7FU) << shift;
      if (b < 0x80U) return v;
    }
    fail();
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace skein::inline v0::ledger
