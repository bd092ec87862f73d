// What programs that host agents for real begin with: a folder, randomness, a runtime. Any thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>

#include "skein/runtime/runtime.hpp"

namespace skein::sim {

// A new folder whose name begins so.
inline std::string make_folder(const std::string& prefix) {
  std::string path = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a folder under " + path);
  return path;
}

inline std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

inline RuntimeOptions two_workers() {
  RuntimeOptions options;
  options.workers = 2;
  return options;
}

}  // namespace skein::sim
