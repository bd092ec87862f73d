// What the simulated group replicates: keys to which numbers are appended, by clients whose batches count once however
// often they are appended to the log. Deterministic and small, so that a snapshot is some hundred bytes. One thread.
//
// 1. The bytes of a snapshot depend on what was applied only, so any two members have the same for one position.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/membership.hpp"

namespace skein::sim::raft {

[[nodiscard]] std::uint64_t mixed(std::uint64_t hash, std::uint64_t with);
[[nodiscard]] std::uint64_t digest_of(const consensus::EntryView& entry);

inline constexpr std::size_t k_keys = 3;

// One command of a batch; all commands of a batch append to one key.
struct Command {
  std::uint32_t client = 0;
  std::uint32_t serial = 0;  // of the batch; one client's grow
  std::uint32_t index = 0;   // in the batch
  std::uint32_t count = 0;   // of the batch
  std::uint32_t key = 0;
  std::uint64_t value = 0;
  std::uint32_t padding = 0;  // bytes that only take room

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<Command> decode(std::string_view bytes);
};

class RaftMachine {
 public:
  // What a client's newest batch did.
  struct Session {
    std::uint32_t serial = 0;
    std::uint32_t next_index = 0;
    consensus::Position first = 0;
    consensus::Position last = 0;
    std::uint64_t value = 0;  // of the key, after it
  };

  // The next entry, which must stand at position() + 1.
  void apply(const consensus::EntryView& entry);
  [[nodiscard]] std::string freeze() const;
  // False when the bytes are no snapshot.
  [[nodiscard]] bool restore(std::string_view bytes);

  [[nodiscard]] consensus::Position position() const { return position_; }
  [[nodiscard]] consensus::Term term() const { return term_; }  // of the entry at position()
  [[nodiscard]] const consensus::Membership& membership() const { return membership_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }  // over positions, terms, bytes and results
  [[nodiscard]] std::uint64_t value(std::size_t key) const { return keys_[key]; }
  [[nodiscard]] const Session* session(std::uint32_t client) const;

 private:
  [[nodiscard]] std::uint64_t apply_command(const consensus::EntryView& entry);

  consensus::Position position_ = 0;
  consensus::Term term_ = 0;
  consensus::Membership membership_;
  std::uint64_t hash_ = 0;
  std::array<std::uint64_t, k_keys> keys_{};
  std::map<std::uint32_t, Session> sessions_;
};

}  // namespace skein::sim::raft
