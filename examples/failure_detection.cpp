// A node beats every 100 ms and stops; the detector says when it is sure, and a breaker keeps callers away from it.
#include <chrono>
#include <cstdio>

#include "skein/resilience/circuit_breaker.hpp"
#include "skein/resilience/phi_detector.hpp"

using std::chrono::milliseconds;

int main() {
  skein::PhiOptions options;
  options.min_deviation = milliseconds(25);
  options.acceptable_pause = milliseconds(500);
  options.first_interval = milliseconds(100);
  skein::PhiDetector detector(options);
  skein::Instant now{};
  for (int beat = 0; beat < 100; ++beat) detector.heartbeat(now += milliseconds(100));

  const skein::Instant last = now;
  while (detector.is_available(now)) now += milliseconds(1);
  const auto silence = std::chrono::duration_cast<milliseconds>(now - last).count();
  std::printf("convicted after %ld ms of silence, phi %.1f\n", static_cast<long>(silence), detector.phi(now));

  skein::CircuitBreaker breaker;
  int calls = 0;
  for (int i = 0; i < 20; ++i) {
    const auto permit = breaker.ask(now);
    if (!permit) continue;
    ++calls;
    breaker.failed(*permit, now);  // nobody answers there
  }
  std::printf("of 20 calls %d were made before the breaker opened\n", calls);
  return silence < 1000 && calls == 5 ? 0 : 1;
}
