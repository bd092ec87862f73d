#include "skein/node/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "skein/base/fd.hpp"
#include "skein/base/secret.hpp"
#include "skein/node/data_folder.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_secret_text = 2 * k_secret_bytes;

std::unexpected<std::string> secret_fault(const std::string& path, const char* what) {
  return std::unexpected(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

std::expected<std::string, std::string> read_secret(const std::string& path, const Fd& fd) {
  if (auto checked = check_own_file(path, fd); !checked) return std::unexpected(std::move(checked.error()));
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return secret_fault(path, "cannot be examined");
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return std::unexpected(fmt::format("{} can be read by others: 'chmod 600' it, or remove it for a new one", path));
  }
  std::array<char, k_secret_text + 2> text{};
  const auto got = ::read(fd.get(), text.data(), text.size());
  std::string secret(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (secret.ends_with('\n')) secret.pop_back();
  const auto is_hex = [](char each) { return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f'); };
  if (secret.size() != k_secret_text || !std::ranges::all_of(secret, is_hex)) {
    return std::unexpected(fmt::format("{} holds no valid secret: remove it to get a new one", path));
  }
  return secret;
}

}  // namespace

std::expected<std::string, std::string> secret_in(const std::string& path) {
  const Fd found(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (found) return read_secret(path, found);
  if (errno != ENOENT) return secret_fault(path, "cannot be read");
  std::string secret = random_secret();
  if (auto written = write_secret(path, secret); !written) return std::unexpected(std::move(written.error()));
  return secret;
}

std::expected<void, std::string> write_secret(const std::string& path, const std::string& secret) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  {
    const Fd made(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!made) return secret_fault(fresh, "cannot be made");
    const std::string line = secret + "\n";
    if (::write(made.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
        ::fsync(made.get()) != 0) {
      return secret_fault(fresh, "cannot be written");
    }
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return secret_fault(path, "cannot be made");
  return {};
}

}  // namespace skein::inline v0::node
