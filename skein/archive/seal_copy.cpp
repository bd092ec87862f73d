#include "skein/archive/seal_copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "skein/base/crc32c.hpp"

namespace skein::inline v0::archive {
namespace {

constexpr std::uint64_t k_magic = 0x316c6165736b732eULL;
constexpr std::size_t k_piece_bytes = 256ULL << 10U;

struct Header {
  std::uint64_t magic = k_magic;
  std::uint64_t bytes = 0;
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
  std::uint32_t content = 0;  // CRC-32C
  std::uint32_t own = 0;      // of what stands before it

  [[nodiscard]] std::uint32_t sum() const {
    return crc32c({reinterpret_cast<const char*>(this), offsetof(Header, own)});
  }
};
static_assert(sizeof(Header) == 40);

struct Identity {
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
};

ArchiveError failed(const std::string& path, std::string_view what) {
  return {ArchiveError::Kind::io, path, fmt::format("{}: {}", what, std::strerror(errno))};
}

// Nothing where the file system does not say when a file was born: then nobody can tell it from another.
std::optional<Identity> identity_of(const std::string& path) {
  struct statx found{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &found) != 0) return std::nullopt;
  if ((found.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  constexpr std::uint64_t k_second = 1'000'000'000;
  return Identity{found.stx_ino,
                  static_cast<std::uint64_t>(found.stx_btime.tv_sec) * k_second + found.stx_btime.tv_nsec};
}

// As many bytes as there are, up to the size of the piece; nothing on an error.
std::optional<std::size_t> read_piece(int fd, std::vector<char>& piece, std::uint64_t at, std::uint64_t most) {
  const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), most));
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(fd, piece.data() + done, wanted - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool write_at(int fd, std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<Header> whole_header(int copy, const std::string& path) {
  Header header;
  std::vector<char> piece(sizeof(Header));
  if (read_piece(copy, piece, 0, sizeof(Header)).value_or(0) != sizeof(Header)) return std::nullopt;
  std::memcpy(&header, piece.data(), sizeof(Header));
  if (header.magic != k_magic || header.own != header.sum()) return std::nullopt;
  const auto identity = identity_of(path);
  if (!identity || identity->inode != header.inode || identity->born_ns != header.born_ns) return std::nullopt;
  return header;
}

// Reads the content once: its CRC, and whether the log begins with it.
struct Content {
  bool is_whole = false;
  bool begins_log = true;
};
Content look_at(int copy, int log, const Header& header) {
  std::vector<char> piece(k_piece_bytes);
  std::vector<char> other(k_piece_bytes);
  std::uint32_t sum = 0;
  Content content;
  for (std::uint64_t at = 0; at < header.bytes;) {
    const auto got = read_piece(copy, piece, sizeof(Header) + at, header.bytes - at);
    if (!got || *got == 0) return content;
    sum = crc32c({piece.data(), *got}, sum);
    const auto there = log >= 0 ? read_piece(log, other, at, *got) : std::optional<std::size_t>(0);
    if (there.value_or(0) != *got || std::memcmp(piece.data(), other.data(), *got) != 0) content.begins_log = false;
    at += *got;
  }
  content.is_whole = sum == header.content;
  return content;
}

}  // namespace

ArchiveResult<SealCopy> SealCopy::open(const std::string& path) {
  Fd log(::open((path + "-wal").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!log) return std::unexpected(failed(path + "-wal", "cannot be opened"));
  const std::string name = path + k_seal_copy_suffix;
  Fd copy(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!copy) return std::unexpected(failed(name, "cannot be opened"));
  return SealCopy(path, std::move(log), std::move(copy));
}

ArchiveResult<void> SealCopy::keep() {
  const std::string name = path_ + k_seal_copy_suffix;
  Header header;
  if (const auto identity = identity_of(path_)) {
    header.inode = identity->inode;
    header.born_ns = identity->born_ns;
  }
  std::vector<char> piece(k_piece_bytes);
  while (true) {
    const auto got = read_piece(log_.get(), piece, header.bytes, piece.size());
    if (!got) return std::unexpected(failed(path_ + "-wal", "cannot be read"));
    if (*got == 0) break;
    header.content = crc32c({piece.data(), *got}, header.content);
    if (!write_at(copy_.get(), sizeof(Header) + header.bytes, {piece.data(), *got})) {
      return std::unexpected(failed(name, "cannot be written"));
    }
    header.bytes += *got;
  }
  if (header.bytes == 0) return {};
  header.own = header.sum();
  if (!write_at(copy_.get(), 0, {reinterpret_cast<const char*>(&header), sizeof(Header)})) {
    return std::unexpected(failed(name, "cannot be written"));
  }
  if (::fdatasync(copy_.get()) != 0) return std::unexpected(failed(name, "cannot be synced"));
  return {};
}

ArchiveResult<void> SealCopy::drop() {
  if (::ftruncate(copy_.get(), 0) != 0) {
    return std::unexpected(failed(path_ + k_seal_copy_suffix, "cannot be emptied"));
  }
  return {};
}

ArchiveResult<bool> SealCopy::restore(const std::string& path) {
  const Fd copy(::open((path + k_seal_copy_suffix).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!copy) return false;
  const auto header = whole_header(copy.get(), path);
  if (!header) return false;
  const std::string log_name = path + "-wal";
  const Fd log(::open(log_name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!log) return std::unexpected(failed(log_name, "cannot be opened"));
  const Content content = look_at(copy.get(), log.get(), *header);
  if (!content.is_whole || content.begins_log) return false;
  if (::ftruncate(log.get(), 0) != 0) return std::unexpected(failed(log_name, "cannot be emptied"));
  std::vector<char> piece(k_piece_bytes);
  for (std::uint64_t at = 0; at < header->bytes;) {
    const auto got = read_piece(copy.get(), piece, sizeof(Header) + at, header->bytes - at);
    if (!got || *got == 0) return std::unexpected(failed(path + k_seal_copy_suffix, "cannot be read"));
    if (!write_at(log.get(), at, {piece.data(), *got})) return std::unexpected(failed(log_name, "cannot be written"));
    at += *got;
  }
  if (::fsync(log.get()) != 0) return std::unexpected(failed(log_name, "cannot be synced"));
  // The index of the old log; the next opening of the database recreates it.
  if (::unlink((path + "-shm").c_str()) != 0 && errno != ENOENT) {
    return std::unexpected(failed(path + "-shm", "cannot be removed"));
  }
  return true;
}

}  // namespace skein::inline v0::archive
