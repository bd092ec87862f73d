// docs/reference/operations.md, made from the table of operations: 'skein operations --markdown' prints it, and
// tests/docs compares the two. Pure; any thread.
#pragma once

#include <string>

namespace skein::inline v0::operations {

// The whole page; lines have at most 120 columns.
[[nodiscard]] std::string reference_page();

}  // namespace skein::inline v0::operations
