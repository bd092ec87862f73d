// HTTP requests: read the same at once and in pieces, never past a limit; what is refused has a status with a name.
// The first byte says how long the pieces are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "skein/net/http.hpp"

namespace {

using namespace skein::net;  // NOLINT(google-build-using-namespace)

constexpr HttpLimits k_limits{.head_bytes = 256, .headers = 8, .body_bytes = 128};

struct Reading {
  std::vector<HttpRequest> requests;
  std::size_t used = 0;
  int status = 0;  // of the refusal that ended it
};

void check(const HttpRequest& request) {
  if (request.body.size() > k_limits.body_bytes || request.headers.size() > k_limits.headers) std::abort();
  if (request.method.empty() || !request.path.starts_with('/')) std::abort();
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) std::abort();
  }
}

Reading read(std::string_view all, std::size_t piece) {
  Reading reading;
  HttpReader reader(k_limits);
  for (std::size_t have = std::min(piece, all.size());;) {
    const auto state = reader.read(all.substr(reading.used, have - reading.used));
    if (state == HttpReader::State::refused) {
      reading.status = reader.status();
      if (http_reason(reading.status) == "Status" || reader.why().empty()) std::abort();
      return reading;
    }
    if (state == HttpReader::State::whole) {
      std::size_t used = 0;
      reading.requests.push_back(reader.take(used));
      check(reading.requests.back());
      if (used == 0 || used > have - reading.used) std::abort();
      reading.used += used;
      continue;
    }
    if (have == all.size()) return reading;
    have = std::min(have + piece, all.size());
  }
}

bool are_same(const HttpRequest& left, const HttpRequest& right) {
  return left.method == right.method && left.path == right.path && left.query == right.query &&
         left.headers == right.headers && left.body == right.body && left.keeps_alive == right.keeps_alive;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading whole = read(text, std::max<std::size_t>(text.size(), 1));
  const Reading pieces = read(text, std::size_t{data[0]} + 1);
  if (whole.status != pieces.status || whole.used != pieces.used) std::abort();
  if (!std::ranges::equal(whole.requests, pieces.requests, are_same)) std::abort();
  return 0;
}
