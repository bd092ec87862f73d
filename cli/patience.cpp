#include "cli/patience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "cli/arguments.hpp"
#include "skein/base/time_text.hpp"

namespace skein::cli {
namespace {

constexpr std::array k_signals{SIGINT, SIGTERM, SIGHUP};
std::atomic<int> g_signal{0};  // the one that came

extern "C" void note_signal(int number) { g_signal.store(number, std::memory_order_relaxed); }

void listen(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  for (const int each : k_signals) ::sigaction(each, &action, nullptr);
}

}  // namespace

Patience::Patience(std::chrono::milliseconds limit) : limit_(limit), until_(Clock::now() + limit) {
  g_signal = 0;
  listen(note_signal);
}

Patience::~Patience() { listen(SIG_DFL); }

void Patience::check(const std::string& doing) const {
  if (const int number = g_signal.load(std::memory_order_relaxed); number != 0) {
    throw GaveUp(k_exit_failed, fmt::format("signal {} came while {}", number, doing));
  }
  if (Clock::now() >= until_) {
    throw GaveUp(k_exit_timeout, fmt::format("the {} of --timeout were up while {}", time_text(limit_), doing));
  }
}

std::chrono::milliseconds Patience::left() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

void Patience::pause(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }

double milliseconds_since(Patience::Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Patience::Clock::now() - begin).count();
}

}  // namespace skein::cli
