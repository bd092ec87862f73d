// Where files kept for tests are; for *_test.cpp files.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace skein::inline v0 {

// A file or folder under tests/fixtures, found by walking up from this program: it lies within its source tree. Not
// from __FILE__, which need not be a path from here. Throws std::runtime_error when there is no such folder above it.
[[nodiscard]] inline std::filesystem::path test_fixture(std::string_view name) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  for (auto folder = program.parent_path(); folder != folder.root_path(); folder = folder.parent_path()) {
    if (std::filesystem::is_directory(folder / "tests" / "fixtures")) return folder / "tests" / "fixtures" / name;
  }
  throw std::runtime_error("there is no tests/fixtures above " + program.string());
}

}  // namespace skein::inline v0
