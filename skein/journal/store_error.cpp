#include "skein/journal/store_error.hpp"

#include <fmt/format.h>

#include <utility>

namespace skein::inline v0::journal {

std::string StoreError::describe() const {
  switch (kind) {
    case Kind::corrupt:
      if (offset == k_nowhere) {
        return fmt::format("{}: {}; restore a backup, or see what `skein log repair DIR` would drop", file, what);
      }
      return fmt::format("{}: corrupt at byte {}: {}; restore a backup, or see what `skein log repair DIR` would drop",
                         file, offset, what);
    case Kind::io:
      return fmt::format("{}; nothing after this failure is trusted: check the disk, then start again", what);
    case Kind::no_space:
      return fmt::format("{}; nothing was lost: make room on the disk", what);
    case Kind::no_descriptors:
      return fmt::format(
          "{}; nothing was lost, it goes on when some are free: raise the limit on open files (ulimit -n)", what);
    case Kind::busy:
      return fmt::format("{}; another program has this journal open: stop it first", what);
    case Kind::not_a_journal:
      return fmt::format("{}; name the folder of a journal (it holds seg-*.log files)", what);
    case Kind::version:
      return fmt::format("{}: {}; use the version of skein that wrote it, or a later one", file, what);
    case Kind::machine:
      return fmt::format("the machine failed: {}", what);
    case Kind::stopped:
      return what;
  }
  return what;
}

StoreError corrupt(std::string file, std::uint64_t offset, std::string what) {
  return {StoreError::Kind::corrupt, std::move(file), offset, std::move(what)};
}

StoreError missing(std::string folder, std::string what) {
  return {StoreError::Kind::corrupt, std::move(folder), StoreError::k_nowhere, std::move(what)};
}

StoreError from_disk(const DiskError& error, std::string file) {
  auto kind = StoreError::Kind::io;
  if (error.code == DiskError::Code::no_space) kind = StoreError::Kind::no_space;
  if (error.code == DiskError::Code::no_descriptors) kind = StoreError::Kind::no_descriptors;
  if (error.code == DiskError::Code::busy) kind = StoreError::Kind::busy;
  if (error.code == DiskError::Code::not_found) kind = StoreError::Kind::not_a_journal;
  return {kind, std::move(file), 0, error.what};
}

}  // namespace skein::inline v0::journal
