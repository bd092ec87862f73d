// Snapshots: what a machine takes back is written again as bytes that are taken back and written the same. An odd first
// byte has the magic and the checksum made right, so that what lies behind them is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "skein/base/sha256.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/replica.hpp"
#include "skein/journal/snapshot_file.hpp"
#include "skein/journal/test_disk.hpp"

namespace {

using namespace skein::journal;  // NOLINT(google-build-using-namespace)

constexpr std::size_t k_digest_bytes = 32;

std::string file_from(std::string_view input) {
  if (input.empty()) return {};
  const bool mend = (static_cast<unsigned char>(input.front()) & 1U) != 0;
  std::string file(input.substr(1));
  if (!mend || file.size() < k_digest_bytes + 8) return file;
  file.replace(0, 8, "SKEINSNP");
  const auto digest = skein::sha256(std::string_view(file).substr(0, file.size() - k_digest_bytes));
  file.replace(file.size() - k_digest_bytes, k_digest_bytes, reinterpret_cast<const char*>(digest.data()),
               k_digest_bytes);
  return file;
}

// The snapshot that a machine writes which was restored from this one; empty when it was refused.
std::string through_a_machine(TestDisk& disk, const LoadedSnapshot& loaded) {
  KvMachine machine;
  Replica replica(machine, {});
  if (!replica.restore(loaded.meta, loaded.body())) return {};
  const auto info = write_snapshot(disk, "out", replica.freeze());
  if (!info) std::abort();
  return disk.bytes_of(info->path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TestDisk disk;
  disk.files["d/one.snap"] = std::make_shared<std::string>(file_from({reinterpret_cast<const char*>(data), size}));
  const auto loaded = load_snapshot(disk, "d/one.snap");
  if (!loaded) return 0;
  const std::string written = through_a_machine(disk, *loaded);
  if (written.empty()) return 0;
  disk.files["d/two.snap"] = std::make_shared<std::string>(written);
  const auto again = load_snapshot(disk, "d/two.snap");
  if (!again || through_a_machine(disk, *again) != written) std::abort();
  return 0;
}
