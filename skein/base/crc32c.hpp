// CRC-32C (Castagnoli), the checksum of records on disk: the processor's instruction where there is one, else a table.
//
// Free functions without state; any thread. A checksum is continued by handing in the one so far:
// crc32c(b, crc32c(a)) == crc32c(a + b).
#pragma once

#include <cstdint>
#include <string_view>

namespace skein::inline v0 {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);

// The table version, on every machine; the test holds the two against each other.
[[nodiscard]] std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t so_far = 0);

}  // namespace skein::inline v0
