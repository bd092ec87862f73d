// Writes down every process: to a file on request, and from the handler of a fatal signal with nothing but write(2).
#pragma once

#include <string>
#include <vector>

#include "skein/runtime/process_info.hpp"

namespace skein::inline v0::detail {

class Core;

[[nodiscard]] std::vector<ProcessInfo> list_processes(Core& core);
[[nodiscard]] std::string dump_text(Core& core);
// False when the file can't be written.
bool dump_to_file(Core& core, const std::string& path);

// On SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT every process of `core` is written to `path` before the program ends
// as it would have. One runtime at a time; a later one replaces it. Removed by remove_fatal_dump.
bool install_fatal_dump(Core& core, const std::string& path);
void remove_fatal_dump(const Core& core);

}  // namespace skein::inline v0::detail
