// What can go wrong with the files of a journal, told so that a person knows what to do next. A plain value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "skein/journal/disk.hpp"

namespace skein::inline v0::journal {

struct StoreError {
  enum class Kind {
    corrupt,         // what was durable is damaged or missing
    io,              // the disk failed; what was written since the last sync can't be trusted
    no_space,        // nothing was harmed, there is no room
    no_descriptors,  // nothing was harmed, the program or the machine has no descriptor left
    busy,            // another program has the folder open
    not_a_journal,   // the folder is not one of ours
    version,         // written by a later format
    machine,         // the machine could not give or write its state
    stopped,         // an earlier failure stopped this journal
  };
  Kind kind = Kind::io;
  std::string file;          // empty when it is about the folder as a whole
  std::uint64_t offset = 0;  // k_nowhere: it is not about a place in the file
  std::string what;
  static constexpr std::uint64_t k_nowhere = UINT64_MAX;

  // The log is as it was, and the same can be tried again later.
  [[nodiscard]] bool is_harmless() const { return kind == Kind::no_space || kind == Kind::no_descriptors; }
  // One line: what happened, to what, what to do.
  [[nodiscard]] std::string describe() const;
};

template <class T>
using StoreResult = std::expected<T, StoreError>;

[[nodiscard]] StoreError corrupt(std::string file, std::uint64_t offset, std::string what);
// Something that must be there is not; corrupt, too, but nowhere in a file.
[[nodiscard]] StoreError missing(std::string folder, std::string what);
[[nodiscard]] StoreError from_disk(const DiskError& error, std::string file = {});

// For `return`: an error result made of a disk's error.
[[nodiscard]] inline std::unexpected<StoreError> disk_failed(const DiskError& error, std::string file = {}) {
  return std::unexpected(from_disk(error, std::move(file)));
}

}  // namespace skein::inline v0::journal
