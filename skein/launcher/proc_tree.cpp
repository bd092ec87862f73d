#include "skein/launcher/proc_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "skein/base/fd.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr int k_freeze_passes = 16;
constexpr long k_first_wait_ms = 1;
constexpr long k_longest_wait_ms = 256;
constexpr int k_quiet_walks = 3;

bool read_entry(const char* name, OsEntry& entry) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%.20s/stat", name);
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  char text[512];
  const ssize_t got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return false;
  text[got] = '\0';
  // The name in brackets may itself hold brackets and spaces; what counts comes after the last one.
  const char* after = std::strrchr(text, ')');
  if (after == nullptr) return false;
  entry.pid = static_cast<pid_t>(std::atoi(name));
  return std::sscanf(after + 1, " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &entry.state,
                     &entry.parent, &entry.group, &entry.threads) == 4;
}

std::vector<OsEntry> living_descendants(std::span<const pid_t> spared) {
  auto found = descendants(scan_processes(), ::getpid(), spared);
  std::erase_if(found, is_dead);
  return found;
}

}  // namespace

std::string shown_of(const OsEntry& entry, const char* file) {
  const std::string own = "/proc/" + std::to_string(entry.pid);
  std::string path = own + "/" + file;
  if (entry.state != 'Z') return path;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((own + "/task").c_str()), &::closedir);
  while (const dirent* each = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    if (each->d_name[0] == '.' || std::atoi(each->d_name) == entry.pid) continue;
    return own + "/task/" + each->d_name + "/" + file;
  }
  return path;
}

std::vector<OsEntry> scan_processes() {
  std::vector<OsEntry> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  if (folder == nullptr) return all;
  while (const dirent* each = ::readdir(folder.get())) {
    if (each->d_name[0] < '1' || each->d_name[0] > '9') continue;
    OsEntry entry;
    if (read_entry(each->d_name, entry)) all.push_back(entry);
  }
  return all;
}

std::vector<pid_t> processes_with(std::string_view variable) {
  std::vector<pid_t> found;
  for (const OsEntry& each : scan_processes()) {
    if (is_dead(each)) continue;
    std::ifstream file(shown_of(each, "environ"), std::ios::binary);
    for (std::string entry; std::getline(file, entry, '\0');) {
      if (entry != variable) continue;
      found.push_back(each.pid);
      break;
    }
  }
  return found;
}

std::vector<OsEntry> descendants(std::span<const OsEntry> all, pid_t root, std::span<const pid_t> spared) {
  std::unordered_multimap<pid_t, const OsEntry*> by_parent;
  for (const OsEntry& each : all) by_parent.emplace(each.parent, &each);
  std::vector<OsEntry> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [begin, end] = by_parent.equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      const OsEntry& entry = *at->second;
      if (entry.pid == root || std::ranges::find(spared, entry.pid) != spared.end()) continue;
      found.push_back(entry);
      open.push_back(entry.pid);
    }
  }
  return found;
}

bool reap(const Reaped& reaped) {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0) {
      reaped(pid, status, usage);
    } else if (pid == 0) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
}

void wait_for_child(long milliseconds) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
  ::sigtimedwait(&child, nullptr, &time);
}

void signal_descendants(int number, pid_t but) {
  std::unordered_set<pid_t> told;
  for (int pass = 0; pass < k_freeze_passes; ++pass) {
    bool fresh = false;
    for (const OsEntry& each : living_descendants({})) {
      if (each.group == but || !told.insert(each.pid).second) continue;
      fresh = ::kill(each.pid, number) == 0 || fresh;
    }
    if (!fresh) return;
  }
}

void kill_descendants(std::span<const pid_t> spared, const Reaped& reaped) {
  int deaths = 0;
  const Reaped counted = [&](pid_t pid, int status, const rusage& usage) {
    ++deaths;
    reaped(pid, status, usage);
  };
  int quiet_walks = 0;
  for (long wait_ms = k_first_wait_ms;; wait_ms = std::min(wait_ms * 2, k_longest_wait_ms)) {
    if (reap(counted)) return;
    auto found = living_descendants(spared);
    if (found.empty()) {
      // The walk misses a process that forks and exits meanwhile, but not its death: the dead process is reaped here.
      if (reap(counted)) return;
      quiet_walks = std::exchange(deaths, 0) == 0 ? quiet_walks + 1 : 0;
      if (!spared.empty() && quiet_walks >= k_quiet_walks) return;
      wait_for_child(wait_ms);
      continue;
    }
    quiet_walks = 0;
    std::unordered_set<pid_t> stopped;
    for (int pass = 0; pass < k_freeze_passes; ++pass) {
      bool fresh = false;
      for (const OsEntry& each : found) {
        if (stopped.insert(each.pid).second) fresh = ::kill(each.pid, SIGSTOP) == 0 || fresh;
      }
      if (!fresh) break;
      found = living_descendants(spared);
    }
    for (const OsEntry& each : found) ::kill(each.pid, SIGKILL);
    wait_for_child(wait_ms);
  }
}

}  // namespace skein::inline v0::launcher
