// How OsIo deals with keepers and launchers that do not answer: most likely somebody has stopped them (SIGSTOP).
//
// Each question is put on a list with the time by which it must be answered; as all have the same time, the list is in
// order. One that is late is continued, again and again. A keeper that tells nothing of the start or the end of its
// program, however often it is continued (a debugger may hold it, or the new process stands still before its exec), is
// replaced: nothing of that program is known but that it has ended, or that nobody could use it yet.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "skein/launcher/os_io.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr std::chrono::milliseconds k_silence_limit{500};
constexpr std::chrono::milliseconds k_keeper_replaced_after{10'000};
// While it starts what nobody wants any more.
constexpr std::chrono::milliseconds k_unwanted_replaced_after{2'000};

}  // namespace

std::uint64_t OsIo::awaited_of(std::uint64_t keeper_id) const {
  if (keeper_id == 0) return launcher_awaited_;
  const auto at = keepers_.find(keeper_id);
  return at == keepers_.end() ? 0 : at->second.awaited;
}

void OsIo::expect_answer(std::uint64_t keeper_id) {
  const auto now = time();
  const std::uint64_t number = next_due_++;
  if (keeper_id == 0) {
    launcher_awaited_ = number;
  } else {
    const auto at = keepers_.find(keeper_id);
    if (at == keepers_.end()) return;
    if (std::exchange(at->second.awaited, number) == 0) at->second.owes_from = now;
  }
  dues_.push_back({now + k_silence_limit, keeper_id, number});
}

void OsIo::answered(std::uint64_t keeper_id) {
  if (keeper_id == 0) {
    launcher_awaited_ = 0;
  } else if (const auto at = keepers_.find(keeper_id); at != keepers_.end()) {
    at->second.awaited = 0;
  }
  forget_answered();
}

void OsIo::forget_answered() {
  while (!dues_.empty() && awaited_of(dues_.front().keeper) != dues_.front().number) dues_.pop_front();
}

void OsIo::take_silence() {
  forget_answered();
  const auto now = time();
  while (!dues_.empty() && dues_.front().at <= now) {
    const std::uint64_t keeper_id = dues_.front().keeper;
    dues_.pop_front();
    is_silent(keeper_id);
    forget_answered();
  }
}

OsIo::Clock::time_point OsIo::replaced_at(const Keeper& keeper, const OsHandle& handle) {
  const auto from = std::max(keeper.owes_from, handle.grace_until);
  if (handle.has_ended) return from + k_keeper_replaced_after;
  if (handle.started) return Clock::time_point::max();  // it runs, and there is time
  return from + (handle.end_wanted ? k_unwanted_replaced_after : k_keeper_replaced_after);
}

void OsIo::is_silent(std::uint64_t keeper_id) {
  // The launcher, too: it is to continue its keepers, whose numbers mean them only as long as it has not reaped them.
  if (line_.pidfd) ::syscall(SYS_pidfd_send_signal, line_.pidfd.get(), SIGCONT, nullptr, 0);
  if (keeper_id == 0) return expect_answer(0);
  const auto at = keepers_.find(keeper_id);
  if (at == keepers_.end()) return;
  const Keeper& keeper = at->second;
  const std::string number = encode_number(static_cast<std::uint32_t>(keeper.pid));
  if (line_.socket) send_packet(line_.socket.get(), Kind::ask_continue, number, {}, false);
  const auto handle = find(keeper.process);
  if (handle == nullptr || time() < replaced_at(keeper, *handle)) return expect_answer(keeper_id);
  if (line_.socket) send_packet(line_.socket.get(), Kind::ask_replace, number, {}, false);
  drop_keeper(keeper_id);
  start_waiting();
}

}  // namespace skein::inline v0::launcher
