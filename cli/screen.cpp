#include "cli/screen.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "cli/terminal.hpp"
#include "skein/base/columns.hpp"

namespace skein::cli {
namespace {

std::atomic<bool> g_is_interrupted{false};
void on_interrupt(int) { g_is_interrupted = true; }

}  // namespace

std::vector<std::string> fitted(const std::string& text, const std::string& foot, std::size_t width,
                                std::size_t height) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(cut_to(line, width));
  const std::size_t room = height > 1 ? height - 1 : 1;  // beside the foot
  if (lines.size() > room) {
    const std::size_t left_out = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back(cut_to(fmt::format("… {} more lines", left_out), width));
  }
  if (height > 1) lines.push_back(cut_to(foot, width));
  return lines;
}

Screen::Screen() {
  if (::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    takes_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  fmt::print("\033[?1049h\033[?25l");
}

Screen::~Screen() {
  fmt::print("\033[?25h\033[?1049l");
  std::fflush(stdout);
  if (takes_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Screen::draw(const std::string& text, const std::string& foot) {
  std::string out = "\033[H";
  bool is_first = true;
  for (const std::string& line : fitted(text, foot, terminal_width(), terminal_height())) {
    if (!is_first) out += "\n";
    is_first = false;
    out += line + "\033[K";
  }
  out += "\033[J";
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
}

bool Screen::wait(std::chrono::milliseconds time) const {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + time;
  while (!g_is_interrupted) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return true;
    pollfd key{takes_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (::poll(&key, 1, static_cast<int>(left)) <= 0) continue;
    char pressed = 0;
    if (::read(STDIN_FILENO, &pressed, 1) != 1 || pressed == 'q' || pressed == 'Q') return false;
  }
  return false;
}

}  // namespace skein::cli
