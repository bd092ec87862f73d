// What an error costs that goes up through five functions, thrown or returned. For docs/adr/0007-errors.md. Not part of
// the build:
//
//   g++ -O2 -std=c++23 bench/adr/errors.cpp -o build/errors && build/errors
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <expected>
#include <stdexcept>

namespace {

constexpr int k_calls = 200'000;
volatile int sink = 0;

__attribute__((noinline)) int thrown(int depth) {
  if (depth == 0) throw std::runtime_error("no");
  const int below = thrown(depth - 1);
  sink = below;
  return below + 1;
}

__attribute__((noinline)) std::expected<int, int> returned(int depth) {
  if (depth == 0) return std::unexpected(1);
  const auto below = returned(depth - 1);
  if (!below) return below;
  sink = *below;
  return *below + 1;
}

template <class F>
double best_ns(F one) {
  double best = 1e18;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < k_calls; ++i) one();
    best = std::min(
        best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / k_calls);
  }
  return best;
}

}  // namespace

int main() {
  const double throwing = best_ns([] {
    try {
      sink = thrown(5);
    } catch (const std::runtime_error&) {
      sink = 1;
    }
  });
  const double returning = best_ns([] { sink = returned(5).value_or(0); });
  std::printf("thrown %.0f ns, returned %.0f ns\n", throwing, returning);
  return 0;
}
