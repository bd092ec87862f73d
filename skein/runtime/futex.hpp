// Sleeping until a word changes, with a time limit (std::atomic::wait has none). Linux only, as skein is.
//
// Any thread may call. A thread that changes the word then wakes the waiters; each waiter then reads the word again.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "skein/base/time.hpp"

namespace skein::inline v0::detail {

// Returns when the word is no longer `expected`, was woken, or the time is up; spuriously too.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Duration limit) {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  constexpr Duration k_longest = std::chrono::hours(1);
  const Duration bounded = limit < k_longest ? limit : k_longest;
  if (bounded <= Duration::zero()) return;
  timespec time{};
  time.tv_sec = static_cast<std::time_t>(bounded.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(bounded.count() % 1'000'000'000);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
}

inline void futex_wake(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// A hint to the processor inside a spinning loop.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Fetches a cache line to be written: one that is read first and written then travels between cores twice.
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  // Compilers for plain x86-64 turn their builtin into a fetch for reading; this is a hint or nothing on every one.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace skein::inline v0::detail
