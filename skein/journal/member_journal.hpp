// Drives a MemberCore: on one thread, which is quickest for a journal of one member, or on a thread for each part, so
// that heartbeats go on through a slow sync and a restore. Slow work (snapshots, discarded segments) and the
// preparation of spare segments have a thread each, so that neither holds up the log nor the other.
//
// Functions may be called from any thread; see journal.hpp for where callbacks run. What waits in the core's queues is
// bounded by its admission, which counts a batch from append() to its answer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "skein/journal/aside_thread.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/member_core.hpp"

namespace skein::inline v0::journal {

// A thread's bed: the thread sleeps here until it has something to do, and is woken by the thread that gives it work.
class Bed {
 public:
  void wake() {
    if (!is_asleep_.load()) return;
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  // False when `until` came first.
  template <class Ready>
  bool sleep(Instant until, Ready ready) {
    if (ready()) return true;
    std::unique_lock lock(mutex_);
    is_asleep_ = true;
    bool is_ready = true;
    if (until == Instant::max()) {
      wake_.wait(lock, ready);
    } else {
      const std::chrono::steady_clock::time_point at(until.time_since_epoch());
      is_ready = wake_.wait_until(lock, at, ready);
    }
    is_asleep_ = false;
    return is_ready;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> is_asleep_{false};
};

class MemberJournal final : public Journal {
 public:
  enum class Threads : std::uint8_t { one, three };

  explicit MemberJournal(std::unique_ptr<MemberCore> core, Threads threads = Threads::one);
  ~MemberJournal() override;

  void append(Batch batch, AnswerFn done, Urgency urgency) override;
  void read(Read what, ReadFn fn) override;
  void snapshot(SnapshotFn done) override;
  void trim(Position up_to) override;
  void set_trim_limit(Position limit) override;
  std::uint64_t subscribe(EventFn fn) override;
  void unsubscribe(std::uint64_t subscription) override;
  [[nodiscard]] std::optional<std::string> leader() const override;
  [[nodiscard]] bool has_quorum() const override;
  [[nodiscard]] bool wait_leader(std::chrono::milliseconds timeout) override;
  [[nodiscard]] JournalStatus status() const override;
  void close() override;

  // What a group does with it.
  void skip(Position position, AnswerFn done);
  void change(std::vector<consensus::MemberChange> changes, MemberCore::ChangeFn done);
  void transfer_to(consensus::MemberId member, MemberCore::ChangeFn done);
  // A message of another member.
  void receive(consensus::PeerMessage message);

 private:
  struct Subscriber {
    std::shared_ptr<EventFn> fn;
    bool told = false;  // how things are; until then it hears nothing
  };

  // Calls `fn`, which posts something to the core, unless the journal is closed.
  template <class Fn>
  bool post(Fn fn);
  void wake(MemberCore::Part part);
  void run_all();
  void run_deciding();
  void run_storing();
  void run_applying();
  // Whether what was accepted is answered, or nothing more can be done for it.
  [[nodiscard]] bool may_end() const;
  void end();
  void hand_out_jobs();
  void publish_leader();
  void tell_present(std::uint64_t subscription);
  void emit(const JournalEvent& event);

  std::unique_ptr<MemberCore> core_;
  const Threads threads_;
  std::atomic<std::thread::id> own_thread_{};
  std::atomic<bool> has_ended_{false};  // own_thread_ touches the machine no more
  std::unique_ptr<AsideThread> spare_thread_;
  std::unique_ptr<AsideThread> slow_thread_;

  std::mutex closing_mutex_;
  std::atomic<bool> is_closing_{false};  // nothing more is accepted
  std::atomic<bool> is_ending_{false};   // the threads end
  std::atomic<Instant> close_by_{Instant::max()};
  Bed deciding_bed_;  // of the only thread, when there is one
  Bed storing_bed_;
  Bed applying_bed_;

  std::mutex subscribers_mutex_;
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t next_subscription_ = 1;

  mutable std::mutex leader_mutex_;
  std::condition_variable leader_changed_;
  std::optional<std::string> leader_;

  std::mutex close_mutex_;
  std::thread deciding_thread_;
  std::thread storing_thread_;
  std::thread thread_;  // applies, or does all
};

}  // namespace skein::inline v0::journal
