// The identity of a process: a value of eight bytes made of node, slot and generation.
//
// A slot is reused after its process died, with the next generation, so a Pid never comes to mean another process.
// A default Pid means nobody; sending to it, or to a dead Pid, is a harmless no-op.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace skein::inline v0 {

class Pid {
 public:
  static constexpr unsigned k_slot_bits = 24;
  static constexpr unsigned k_generation_bits = 28;
  static constexpr std::uint32_t k_slot_max = (1U << k_slot_bits) - 1;
  static constexpr std::uint32_t k_generation_max = (1U << k_generation_bits) - 1;

  constexpr Pid() = default;
  constexpr Pid(std::uint32_t node, std::uint32_t slot, std::uint32_t generation)
      : bits_((std::uint64_t{node} << (k_slot_bits + k_generation_bits)) | (std::uint64_t{slot} << k_generation_bits) |
              generation) {}

  [[nodiscard]] static constexpr Pid from_bits(std::uint64_t bits) {
    Pid pid;
    pid.bits_ = bits;
    return pid;
  }

  [[nodiscard]] constexpr std::uint32_t node() const {
    return static_cast<std::uint32_t>(bits_ >> (k_slot_bits + k_generation_bits));
  }
  [[nodiscard]] constexpr std::uint32_t slot() const {
    return static_cast<std::uint32_t>(bits_ >> k_generation_bits) & k_slot_max;
  }
  [[nodiscard]] constexpr std::uint32_t generation() const {
    return static_cast<std::uint32_t>(bits_) & k_generation_max;
  }
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  // Node and slot in one: the slot for the node 0, which every runtime is to itself, and beyond any for another.
  [[nodiscard]] constexpr std::uint64_t place() const { return bits_ >> k_generation_bits; }

  // False for nobody.
  constexpr explicit operator bool() const { return bits_ != 0; }
  friend constexpr auto operator<=>(Pid, Pid) = default;

  // "<node.slot.generation>", as shown to people.
  [[nodiscard]] std::string text() const {
    return "<" + std::to_string(node()) + "." + std::to_string(slot()) + "." + std::to_string(generation()) + ">";
  }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace skein::inline v0

template <>
struct std::hash<skein::Pid> {
  std::size_t operator()(skein::Pid pid) const noexcept {
    return static_cast<std::size_t>((pid.bits() ^ (pid.bits() >> 29U)) * 0x9e3779b97f4a7c15ULL);
  }
};
