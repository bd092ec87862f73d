#include "skein/node/data_lock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "skein/node/data_folder.hpp"

namespace skein::inline v0::node {
namespace {

constexpr const char* k_lock_file = "node.lock";

std::string holder(int fd) {
  std::array<char, 256> text{};
  const auto got = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string said(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.empty() ? "a process that left no pid" : said;
}

std::unexpected<DataLockError> broken(std::string why) { return std::unexpected(DataLockError{std::move(why), false}); }

}  // namespace

std::expected<DataLock, DataLockError> DataLock::take(const std::string& folder) {
  auto notes = keep_folder_private(folder);
  if (!notes) return broken(std::move(notes.error()));
  const std::string path = folder + "/" + k_lock_file;
  auto opened = open_own_file(path);
  if (!opened) return broken(std::move(opened.error()));
  Fd fd = std::move(*opened);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return broken(fmt::format("{}: {}", path, std::strerror(errno)));
    return std::unexpected(
        DataLockError{fmt::format("{} is in use by {}: stop that node, or give this one another folder with --data",
                                  folder, holder(fd.get())),
                      true});
  }
  const std::string who =
      fmt::format("pid {}, since {:%Y-%m-%d %H:%M:%S} UTC\n", ::getpid(), fmt::gmtime(std::time(nullptr)));
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), who.data(), who.size(), 0) < 0) {
    return broken(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  for (std::string& each : keep_files_private(folder)) notes->push_back(std::move(each));
  return DataLock(std::move(fd), std::move(*notes));
}

std::string default_data_folder() {
  const auto given = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::string(value) : std::string();
  };
  if (const std::string data = given("SKEIN_DATA"); !data.empty()) return data;
  if (const std::string state = given("XDG_STATE_HOME"); !state.empty()) return state + "/skein";
  const std::string home = given("HOME");
  return (home.empty() ? "." : home) + "/.local/state/skein";
}

std::string journal_in(const std::string& data) { return data + "/journal"; }

}  // namespace skein::inline v0::node
