#include "skein/node/learned_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "skein/base/fd.hpp"
#include "skein/dispatch/learned_text.hpp"

namespace skein::inline v0::node {
namespace {

// What went wrong, for people; nothing when nothing did.
using Fault = std::optional<std::string>;

std::string os_fault(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

std::expected<std::string, std::string> read_learned(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::string();
  if (!file) return std::unexpected(os_fault("it cannot be opened"));
  std::string bytes(dispatch::k_learned_bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const auto got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(os_fault("it cannot be read"));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return dispatch::opened_learned(bytes);
}

// Whole or not at all, whenever the machine stops. The folder is not synced: the table of before is as good.
Fault write_learned(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  {
    const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!file) return os_fault("it cannot be made");
    const std::string bytes = dispatch::sealed_learned(text);
    for (std::size_t done = 0; done < bytes.size();) {
      const auto put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return os_fault("it cannot be written");
      done += static_cast<std::size_t>(put);
    }
    if (::fdatasync(file.get()) != 0) return os_fault("it cannot be synced");
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return os_fault("it cannot be replaced");
  return std::nullopt;
}

}  // namespace

LearnedTable::LearnedTable(std::string folder, Warn warn)
    : path_(std::move(folder) + "/" + k_learned_file), warn_(std::move(warn)) {
  auto read = read_learned(path_);
  if (read) {
    text_ = std::move(*read);
  } else if (warn_) {
    warn_(fmt::format("{}: {}; routing and retries start to learn again", path_, read.error()));
  }
}

LearnedTable::~LearnedTable() {
  writing_.stop();
  write_newest();
}

std::string LearnedTable::text() const {
  const std::scoped_lock lock(mutex_);
  return text_;
}

void LearnedTable::keep(std::string text) {
  {
    const std::scoped_lock lock(mutex_);
    if (text == text_) return;
    text_ = std::move(text);
    is_written_ = false;
    if (std::exchange(is_posted_, true)) return;
  }
  if (writing_.post([this] { write_newest(); })) return;
  const std::scoped_lock lock(mutex_);
  is_posted_ = false;
}

void LearnedTable::write_newest() {
  std::string newest;
  {
    const std::scoped_lock lock(mutex_);
    is_posted_ = false;
    if (std::exchange(is_written_, true)) return;
    newest = text_;
  }
  const Fault fault = write_learned(path_, newest);
  const bool had_failed = std::exchange(has_failed_, fault.has_value());
  if (fault && !had_failed && warn_) {
    warn_(fmt::format("{}: {}; what was learned is lost at the next start", path_, *fault));
  }
}

}  // namespace skein::inline v0::node
