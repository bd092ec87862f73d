#include "cli/agent_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace skein::cli {

bool has_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    folder.append("/").append(name);
    if (::access(folder.c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string executor_lines(const std::string& folder, const std::string& mark, int kill_after_ms) {
  const std::size_t equals = mark.find('=');
  return fmt::format("directory = \"{}\"\nset_env = {{ {} = \"{}\" }}\nkill_after = \"{}ms\"\n", folder,
                     mark.substr(0, equals), mark.substr(equals + 1), kill_after_ms);
}

std::string stdio_command(const std::string& name, bool has_python) {
  return has_python ? fmt::format(R"(["python3", "-S", "-E", "{}.py"])", name)
                    : fmt::format(R"(["/bin/sh", "{}.sh"])", name);
}

void write_file(const std::string& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder + "/" + name) << text;
}

}  // namespace skein::cli
