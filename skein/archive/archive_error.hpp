// What can go wrong with the archive, told so that a person knows what to do next. A plain value.
#pragma once

#include <expected>
#include <string>

namespace skein::inline v0::archive {

struct ArchiveError {
  enum class Kind {
    corrupt,   // the file is damaged, or is no archive
    damaged,   // one record is
    conflict,  // a finish number belongs to two tasks: journal and archive do not belong together
    version,   // written by a later skein
    busy,      // somebody else holds the file locked
    no_space,  // the disk is full; what was there is whole
    io,        // anything else
  };
  Kind kind = Kind::io;
  std::string file;
  std::string what;

  // One line: what happened, to what, what to do.
  [[nodiscard]] std::string describe() const;
};

template <class T>
using ArchiveResult = std::expected<T, ArchiveError>;

}  // namespace skein::inline v0::archive
