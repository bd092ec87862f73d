// How long a verb that starts a node of its own may take, and whether somebody asked it to end: every wait looks here.
//
// Install one per program, in main's thread. Signals only set a flag; the wait under way then ends with GaveUp, so that
// everything on the stack is put in order.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

namespace skein::cli {

// Ends what is under way; `code` is the program's exit code.
struct GaveUp : std::runtime_error {
  GaveUp(int exit_code, const std::string& why) : std::runtime_error(why), code(exit_code) {}
  int code;
};

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes over SIGINT, SIGTERM and SIGHUP.
  explicit Patience(std::chrono::milliseconds limit);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Throws GaveUp when the time is up or a signal came.
  void check(const std::string& doing) const;
  [[nodiscard]] std::chrono::milliseconds left() const;
  // Waits, with check(), until `holds` says true, looking every `look`; false after `limit`.
  template <class Condition>
  bool wait(const std::string& doing, std::chrono::milliseconds limit, std::chrono::microseconds look,
            Condition holds) const {
    const auto until = Clock::now() + limit;
    while (!holds()) {
      check(doing);
      if (Clock::now() >= until) return false;
      pause(look);
    }
    return true;
  }
  static void pause(std::chrono::microseconds time);

 private:
  std::chrono::milliseconds limit_;
  Clock::time_point until_;
};

[[nodiscard]] double milliseconds_since(Patience::Clock::time_point begin);

}  // namespace skein::cli
