// The archive's upkeep beside new tasks: retention, verification, and checksums for records of an earlier version.
// Part of the archiver, on the same job queue, so that the store is written to by one thread at a time.
//
// start(), stop(), nudge() and status() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "skein/archive/agreed_clock.hpp"
#include "skein/archive/archiver.hpp"

namespace skein::inline v0::archive {

class Caretaker : public std::enable_shared_from_this<Caretaker> {
 public:
  Caretaker(Store& store, JobQueue& jobs, const ArchiverLimits& limits, NewsFn on_news);

  void start();
  void stop() { stopped_ = true; }
  // The job queue may have had no room for what was to be done next: asks again.
  void nudge();
  // Only what is done here.
  [[nodiscard]] ArchiverStatus status() const;

 private:
  static constexpr std::size_t k_slice = 1000;           // records verified at once
  static constexpr std::uint64_t k_damage_told = 10;     // records of one verification; the rest are counted
  static constexpr std::uint64_t k_looks_per_seal = 10;  // at the clock, each of which is noted in the archive's log

  static constexpr std::uint64_t k_rounds_per_seal = 20;  // of removing, and of upgrading

  enum Chore : std::uint8_t { retain, verify, upgrade };
  static constexpr std::size_t k_chores = 3;

  void post(Chore chore, Duration delay);
  // Answers when to do it again; nothing: never.
  [[nodiscard]] std::optional<Duration> run(Chore chore);
  [[nodiscard]] std::optional<Duration> do_retain();
  [[nodiscard]] std::optional<Duration> do_verify();
  [[nodiscard]] std::optional<Duration> do_upgrade();
  [[nodiscard]] std::optional<ledger::WallMs> believed_time();
  void found_damage(const std::string& what);
  void end_verification();
  [[nodiscard]] Duration verify_pause() const;
  void seal();
  void failed(const std::string& why);
  void tell(ArchiverNews::Kind kind, std::string text, std::uint64_t number = 0) const;

  Store& store_;
  JobQueue& jobs_;
  const ArchiverLimits limits_;
  const NewsFn on_news_;
  std::atomic<bool> stopped_{false};
  std::array<std::atomic<bool>, k_chores> posted_{};
  std::array<std::atomic<bool>, k_chores> done_{};  // for good
  // On the job queue.
  std::optional<AgreedClock> clock_;
  std::uint64_t looks_ = 0;
  std::uint64_t upgrades_ = 0;
  std::uint64_t removed_at_once_ = 0;
  ledger::FinishNumber verified_up_to_ = 0;
  Instant verify_again_{};
  mutable std::mutex mutex_;
  ArchiverStatus status_;
};

}  // namespace skein::inline v0::archive
