// A folder under $TMPDIR that goes with its owner. One thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace skein::cli {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name) {
    path_ = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("no folder could be made as " + path_ + ": may this user write there?");
    }
  }
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // False: something could not be removed.
  bool remove() const {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    return !error;
  }

 private:
  std::string path_;
};

}  // namespace skein::cli
