// Lists every process and writes the list down, to a file on request. What a fatal signal leaves is in fatal_dump.hpp.
//
// Any thread may call, at any time; no process is stopped or waited for. So it is no cut through time: each process is
// shown as it was when it was looked at, and one that came or went meanwhile may be missing.
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
