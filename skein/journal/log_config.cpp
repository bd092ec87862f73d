#include "skein/journal/log_config.hpp"

#include "skein/base/bytes.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::uint32_t k_version = 1;

}  // namespace

std::string LogConfig::encode() const {
  std::string out;
  ByteWriter w(out);
  w.u32(k_version);
  w.u64(cluster);
  w.u64(ids.ids_kept);
  w.u64(ids.id_result_bytes);
  return out;
}

std::optional<LogConfig> LogConfig::decode(std::string_view bytes) {
  ByteReader r(bytes);
  if (r.u32() != k_version) return std::nullopt;
  LogConfig config;
  config.cluster = r.u64();
  config.ids.ids_kept = r.u64();
  config.ids.id_result_bytes = r.u64();
  if (!r.done() || config.cluster == 0) return std::nullopt;
  return config;
}

}  // namespace skein::inline v0::journal
