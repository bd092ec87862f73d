// A disk in memory for tests: files are strings that a test may look at and damage, and the next write, sync or
// creation can be told to fail. It forgets nothing; losing what was not synced is the simulator's business. One thread.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"

namespace skein::inline v0::journal {

class TestDisk final : public Disk {
 public:
  enum class Op { create, write, sync, rename, remove, sync_dir };

  // Asked before each operation; an answer makes the operation fail with it.
  std::function<std::optional<DiskError::Code>(Op, const std::string& path)> fault;
  // Asked before anything is opened, a folder to be synced too: true, and no descriptor is free for it.
  std::function<bool(const std::string& path)> deny_open;
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  std::map<std::string, std::shared_ptr<std::string>> files;
  std::vector<std::string> done;  // "sync seg-...": what was asked, in order

  std::string& bytes_of(const std::string& path) { return *files.at(path); }

  DiskResult<std::unique_ptr<File>> open(const std::string& path, Mode mode) override {
    if (deny_open && deny_open(path)) return no_descriptor(path);
    if (mode == Mode::create) {
      if (auto e = check(Op::create, "create", path)) return std::unexpected(*e);
      files[path] = std::make_shared<std::string>();
    }
    const auto at = files.find(path);
    if (at == files.end()) return std::unexpected(DiskError{DiskError::Code::not_found, "open " + path + ": none"});
    return std::make_unique<OpenFile>(*this, path, at->second);
  }
  DiskResult<void> rename(const std::string& from, const std::string& to) override {
    if (auto e = check(Op::rename, "rename", from)) return std::unexpected(*e);
    std::map<std::string, std::shared_ptr<std::string>> moved;
    for (const auto& [path, contents] : files) {
      if (path == from || path.starts_with(from + "/")) moved[to + path.substr(from.size())] = contents;
    }
    if (moved.empty()) return std::unexpected(DiskError{DiskError::Code::not_found, "rename " + from + ": none"});
    std::erase_if(files, [&](const auto& file) { return file.first == from || file.first.starts_with(from + "/"); });
    for (auto& [path, contents] : moved) files[path] = std::move(contents);
    return {};
  }
  DiskResult<void> remove(const std::string& path) override {
    if (auto e = check(Op::remove, "remove", path)) return std::unexpected(*e);
    if (files.erase(path) == 0) return std::unexpected(DiskError{DiskError::Code::not_found, "remove " + path});
    return {};
  }
  DiskResult<void> make_dir(const std::string&) override { return {}; }
  DiskResult<std::vector<std::string>> list(const std::string& dir) override {
    std::vector<std::string> names;
    for (const auto& [path, contents] : files) {
      if (path.starts_with(dir + "/") && path.find('/', dir.size() + 1) == std::string::npos) {
        names.push_back(path.substr(dir.size() + 1));
      }
    }
    return names;
  }
  DiskResult<void> sync_dir(const std::string& dir) override {
    if (deny_open && deny_open(dir)) return no_descriptor(dir);
    if (auto e = check(Op::sync_dir, "sync_dir", dir)) return std::unexpected(*e);
    return {};
  }
  DiskResult<std::uint64_t> free_bytes(const std::string&) override { return room; }
  DiskResult<std::unique_ptr<FolderLock>> lock(const std::string& dir) override {
    auto& holder = locks_[dir];
    if (!holder.expired()) return std::unexpected(DiskError{DiskError::Code::busy, "lock " + dir + ": held"});
    auto token = std::make_shared<int>(0);
    holder = token;
    return std::make_unique<HeldLock>(std::move(token));
  }

 private:
  class HeldLock final : public FolderLock {
   public:
    explicit HeldLock(std::shared_ptr<int> token) : token_(std::move(token)) {}

   private:
    std::shared_ptr<int> token_;
  };

  class OpenFile final : public File {
   public:
    OpenFile(TestDisk& disk, std::string path, std::shared_ptr<std::string> contents)
        : disk_(disk), path_(std::move(path)), contents_(std::move(contents)) {}
    DiskResult<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
      if (offset >= contents_->size()) return 0U;
      return contents_->copy(into.data(), into.size(), offset);
    }
    DiskResult<void> write_at(std::uint64_t offset, std::string_view bytes) override {
      if (auto e = disk_.check(Op::write, "write", path_)) return std::unexpected(*e);
      if (contents_->size() < offset + bytes.size()) contents_->resize(offset + bytes.size(), '\0');
      std::ranges::copy(bytes, contents_->begin() + static_cast<std::ptrdiff_t>(offset));
      return {};
    }
    DiskResult<void> sync() override {
      if (auto e = disk_.check(Op::sync, "sync", path_)) return std::unexpected(*e);
      return {};
    }
    DiskResult<void> truncate(std::uint64_t bytes) override {
      contents_->resize(bytes, '\0');
      return {};
    }
    DiskResult<std::uint64_t> size() override { return contents_->size(); }

   private:
    TestDisk& disk_;
    std::string path_;
    std::shared_ptr<std::string> contents_;
  };

  static std::unexpected<DiskError> no_descriptor(const std::string& path) {
    return std::unexpected(DiskError{DiskError::Code::no_descriptors, "open " + path + ": Too many open files"});
  }
  std::optional<DiskError> check(Op op, const char* name, const std::string& path) {
    done.push_back(std::string(name) + " " + path.substr(path.rfind('/') + 1));
    if (!fault) return std::nullopt;
    const auto code = fault(op, path);
    if (!code) return std::nullopt;
    return DiskError{*code, std::string(name) + " " + path + ": made to fail"};
  }

  std::map<std::string, std::weak_ptr<int>> locks_;
};

}  // namespace skein::inline v0::journal
