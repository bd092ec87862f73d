// Writes down every process, to a file on request. What a fatal signal leaves is in fatal_dump.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "skein/runtime/process_info.hpp"

namespace skein::inline v0::detail {

class Core;

// The first `at_most` of them.
[[nodiscard]] std::vector<ProcessInfo> list_processes(Core& core, std::size_t at_most = SIZE_MAX);
[[nodiscard]] std::string dump_text(Core& core);
// False when the file can't be written.
bool dump_to_file(Core& core, const std::string& path);

}  // namespace skein::inline v0::detail
