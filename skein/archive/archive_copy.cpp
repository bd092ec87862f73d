#include "skein/archive/archive_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "skein/archive/sqlite_store.hpp"

namespace skein::inline v0::archive {
namespace {

ArchiveResult<void> sync_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = fd >= 0 && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!is_synced) return std::unexpected(ArchiveError{ArchiveError::Kind::io, path, std::strerror(why)});
  return {};
}

// The copy has no index that disagrees with its table, and no page that cannot be read.
ArchiveResult<void> check(const Database& copy, const std::string& path) {
  auto checked = copy.prepare("PRAGMA quick_check(1)");
  if (!checked) return std::unexpected(checked.error());
  const auto row = checked->step();
  if (!row) return std::unexpected(row.error());
  if (*row && checked->text(0) == "ok") return {};
  return std::unexpected(ArchiveError{ArchiveError::Kind::corrupt, path, std::string(checked->text(0))});
}

}  // namespace

ArchiveResult<std::uint64_t> copy_archive(const std::string& from, const std::string& to) {
  {
    const auto source = Database::open(from, Database::Mode::read, k_busy_ms);
    if (!source) return std::unexpected(source.error());
    auto copying = source->prepare("VACUUM INTO ?");
    if (!copying) return std::unexpected(copying.error());
    if (auto ok = copying->bind(1, std::string_view(to)).run(); !ok) return std::unexpected(ok.error());
  }
  const auto copy = Database::open(to, Database::Mode::read, k_busy_ms);
  if (!copy) return std::unexpected(copy.error());
  if (auto ok = check(*copy, to); !ok) return std::unexpected(ok.error());
  if (auto ok = sync_file(to); !ok) return std::unexpected(ok.error());
  return copy->number("SELECT count(*) FROM tasks");
}

}  // namespace skein::inline v0::archive
