// The hard state: what is read is saved as something that reads the same. An odd first byte has the checksum made
// right.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "skein/base/bytes.hpp"
#include "skein/base/crc32c.hpp"
#include "skein/journal/hard_state.hpp"
#include "skein/journal/test_disk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skein::journal;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1U) != 0 && file.size() >= 4) {
    skein::put_u32_at(file, file.size() - 4, skein::crc32c(std::string_view(file).substr(0, file.size() - 4)));
  }
  TestDisk disk;
  disk.files["d/hard-state"] = std::make_shared<std::string>(file);
  const auto state = load_hard_state(disk, "d");
  if (!state || !*state) return 0;
  if (!save_hard_state(disk, "d", **state)) std::abort();
  const auto again = load_hard_state(disk, "d");
  if (!again || *again != *state) std::abort();
  return 0;
}
