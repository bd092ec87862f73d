// A segment of a log: whatever is read hands out positions without a gap, opens, and reads the same again afterwards.
// The first byte says which checksums are made right, so that what lies behind them is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "skein/base/crc32c.hpp"
#include "skein/journal/log_store.hpp"
#include "skein/journal/test_disk.hpp"

namespace {

using namespace skein::journal;  // NOLINT(google-build-using-namespace)

constexpr const char* k_path = "d/seg-0000000000000001.log";
constexpr std::uint32_t k_align = 512;

void make_header_right(std::string& file) {
  if (file.size() < k_sector_bytes) return;
  file.replace(0, 8, "SKEINLOG");
  skein::put_u32_at(file, k_sector_bytes - 4, skein::crc32c(std::string_view(file).substr(0, k_sector_bytes - 4)));
}

// Every piece of the alignment that begins with a batch's magic gets the checksum that belongs there.
void make_batches_right(std::string& file) {
  for (std::uint64_t at = k_header_bytes; at + k_align <= file.size(); at += k_align) {
    const std::string_view rest = std::string_view(file).substr(at);
    if (!looks_like_batch(rest)) continue;
    std::uint32_t length = 0;
    std::memcpy(&length, file.data() + at + 28, 4);
    const std::uint64_t size = (k_batch_head_bytes + std::uint64_t{length} + k_align - 1) / k_align * k_align;
    if (size > rest.size()) continue;
    const std::uint64_t place[2] = {1, at};
    char bytes[sizeof place];
    std::memcpy(bytes, place, sizeof place);
    const auto crc = skein::crc32c(rest.substr(8, size - 8), skein::crc32c({bytes, sizeof bytes}));
    skein::put_u32_at(file, at + 4, crc);
  }
}

std::string file_from(std::string_view input) {
  if (input.empty()) return {};
  const auto mode = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  std::string file;
  if ((mode & 1U) != 0) {
    const std::uint64_t nominal = k_header_bytes + (input.size() + k_align - 1) / k_align * k_align;
    file = encode_header({1, 1, nominal, 1, {}, k_align});
    file.append(input);
    file.resize(nominal, '\0');
  } else {
    file = input;
    if ((mode & 2U) != 0) make_header_right(file);
  }
  if ((mode & 4U) != 0) make_batches_right(file);
  return file;
}

Position read_all(Disk& disk, const LogImage& image) {
  Position next = image.segments.empty() ? 1 : image.segments.front().header.first_position;
  const auto ok = read_entries(disk, image.segments, 0, [&](const EntryView& entry) {
    if (entry.position != next++) std::abort();
    return true;
  });
  if (!ok) std::abort();
  return next - 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TestDisk disk;
  disk.files[k_path] = std::make_shared<std::string>(file_from({reinterpret_cast<const char*>(data), size}));
  const auto image = scan_log(disk, "d", 0);
  if (!image) return 0;
  if (read_all(disk, *image) != image->last) std::abort();
  StoreOptions options;
  options.first_segment_bytes = 8192;
  options.batch_align = k_align;
  {
    const auto store = LogStore::open(disk, "d", options, 0);
    if (!store || (*store)->last_position() != image->last) std::abort();
  }
  const auto again = scan_log(disk, "d", 0);
  if (!again || again->last != image->last || again->durable != image->last) std::abort();
  return 0;
}
