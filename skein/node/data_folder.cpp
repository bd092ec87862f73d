#include "skein/node/data_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace skein::inline v0::node {
namespace {

constexpr mode_t k_others = S_IRWXG | S_IRWXO;
constexpr mode_t k_others_write = S_IWGRP | S_IWOTH;
constexpr mode_t k_permissions = 07777;
constexpr int k_folder_depth = 16;        // of folders in the data folder that are looked at
constexpr std::size_t k_files_named = 4;  // of files in one line

std::string os_reason() { return std::strerror(errno); }

mode_t permissions(const struct stat& about) { return about.st_mode & k_permissions; }

// Calls `look` with each file and folder below, but not with links, sockets and the like.
void walk_folder(
    int folder, const std::string& inside, int depth,
    const std::function<void(int folder, const char* name, const std::string& shown, const struct stat&)>& look) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0)), &::closedir);
  while (const dirent* each = open == nullptr ? nullptr : ::readdir(open.get())) {
    const std::string_view name = each->d_name;
    struct stat about{};
    if (name == "." || name == ".." || ::fstatat(folder, each->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string shown = inside.empty() ? std::string(name) : fmt::format("{}/{}", inside, name);
    if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) look(folder, each->d_name, shown, about);
    if (!S_ISDIR(about.st_mode) || depth >= k_folder_depth) continue;
    const Fd below(::openat(folder, each->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) walk_folder(below.get(), shown, depth + 1, look);
  }
}

// Those that a walk has found, counted, and the first few by their names.
class FoundFiles {
 public:
  void add(const std::string& name) {
    if (++count_ <= k_files_named) names_ += (names_.empty() ? "" : ", ") + name;
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string text() const {
    return count_ <= k_files_named ? names_ : fmt::format("{} and {} more", names_, count_ - k_files_named);
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

Fd open_data_folder(const std::string& folder) {
  return Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::string what_others_can(mode_t mode) {
  return fmt::format("mode {:04o}: others can {}", static_cast<unsigned>(mode),
                     (mode & k_others_write) != 0 ? "write there" : "read it");
}

}  // namespace

std::expected<std::vector<std::string>, std::string> keep_folder_private(const std::string& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error) return std::unexpected(fmt::format("{}: the data folder cannot be created: {}", folder, error.message()));
  const Fd fd = open_data_folder(folder);
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0) {
    return std::unexpected(fmt::format("{}: {}; does this user have access to the folder?", folder, os_reason()));
  }
  if (about.st_uid != ::geteuid()) {
    return std::unexpected(
        fmt::format("{}: the data folder belongs to user {}, and this is user {}: run skein as its owner, give it "
                    "another folder with --data, or chown this one",
                    folder, about.st_uid, ::geteuid()));
  }
  std::vector<std::string> notes;
  if ((about.st_mode & k_others) == 0) return notes;
  const std::string was = what_others_can(permissions(about));
  struct stat after{};
  const bool is_mended =
      ::fchmod(fd.get(), S_IRWXU) == 0 && ::fstat(fd.get(), &after) == 0 && (after.st_mode & k_others) == 0;
  if (is_mended) {
    if (!is_new) notes.push_back(fmt::format("{}: the data folder had {}; it is 0700 now", folder, was));
    return notes;
  }
  if ((about.st_mode & k_others_write) != 0) {
    return std::unexpected(fmt::format(
        "{}: the data folder has {}, and that cannot be changed ({}): use a folder on a file system with permissions",
        folder, was, os_reason()));
  }
  notes.push_back(fmt::format(
      "{}: the data folder has {}, and that cannot be changed: other users can read what is in tasks and results",
      folder, was));
  return notes;
}

std::vector<std::string> keep_files_private(const std::string& folder) {
  const Fd fd = open_data_folder(folder);
  FoundFiles mended;
  FoundFiles left;
  FoundFiles foreign;
  if (fd) {
    walk_folder(fd.get(), {}, 0, [&](int parent, const char* name, const std::string& shown, const struct stat& about) {
      if (about.st_uid != ::geteuid()) return foreign.add(shown);
      if ((about.st_mode & k_others) == 0) return;
      // By a descriptor: a link that somebody laid there meanwhile is not followed.
      const Fd file(::openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      const mode_t ours = permissions(about) & ~k_others;
      (file && ::fchmod(file.get(), ours) == 0 ? mended : left).add(shown);
    });
  }
  std::vector<std::string> notes;
  if (mended.any()) {
    notes.push_back(fmt::format("{}: others could read {}; its mode was corrected", folder, mended.text()));
  }
  if (left.any()) notes.push_back(fmt::format("{}: others can read {}: make it 0600", folder, left.text()));
  if (foreign.any()) {
    notes.push_back(
        fmt::format("{}: {} belongs to another user: find out why, then remove or chown it", folder, foreign.text()));
  }
  return notes;
}

std::vector<std::string> looseness_of(const std::string& folder) {
  std::vector<std::string> all;
  struct stat about{};
  const Fd fd = open_data_folder(folder);
  if (!fd || ::fstat(fd.get(), &about) != 0) return all;
  if ((about.st_mode & k_others) != 0) all.push_back(what_others_can(permissions(about)));
  FoundFiles loose;
  FoundFiles foreign;
  walk_folder(fd.get(), {}, 0, [&](int, const char*, const std::string& shown, const struct stat& each) {
    if (each.st_uid != about.st_uid) foreign.add(shown);
    if ((each.st_mode & k_others) != 0) loose.add(shown);
  });
  if (loose.any()) all.push_back(fmt::format("others may use {}", loose.text()));
  if (foreign.any()) all.push_back(fmt::format("{} belongs to another user", foreign.text()));
  return all;
}

std::expected<void, std::string> check_own_file(const std::string& path, const Fd& fd) {
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return std::unexpected(fmt::format("{}: {}", path, os_reason()));
  if (!S_ISREG(about.st_mode)) {
    return std::unexpected(fmt::format("{} is not a regular file: find out who created it, then remove it", path));
  }
  if (about.st_uid != ::geteuid()) {
    return std::unexpected(
        fmt::format("{} belongs to user {}, and this is user {}: find out who created it, then remove it", path,
                    about.st_uid, ::geteuid()));
  }
  if (about.st_nlink > 1) {
    return std::unexpected(
        fmt::format("{} has {} hard links: find out who created them, then remove it", path, about.st_nlink));
  }
  return {};
}

std::expected<Fd, std::string> open_own_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd && errno == ELOOP) {
    return std::unexpected(fmt::format("{} is a symbolic link: find out who created it, then remove it", path));
  }
  if (!fd) return std::unexpected(fmt::format("{}: {}; may this user write to the folder?", path, os_reason()));
  if (auto checked = check_own_file(path, fd); !checked) return std::unexpected(std::move(checked.error()));
  return fd;
}

}  // namespace skein::inline v0::node
