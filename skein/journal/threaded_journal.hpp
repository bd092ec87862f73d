// Drives a JournalCore on a thread of its own: many appends, one sync. Slow work (snapshots, discarded segments) and
// the preparation of spare segments have a thread each, so that neither holds up the log nor the other.
//
// Functions may be called from any thread; see journal.hpp for where callbacks run. The inbox is bounded by the core's
// admission, which counts a batch from append() to its answer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "skein/journal/aside_thread.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/journal_core.hpp"

namespace skein::inline v0::journal {

class ThreadedJournal final : public Journal {
 public:
  explicit ThreadedJournal(std::unique_ptr<JournalCore> core);
  ~ThreadedJournal() override;

  void append(Batch batch, AnswerFn done, Urgency urgency) override;
  void read(Read what, ReadFn fn) override;
  void snapshot(SnapshotFn done) override;
  void trim(Position up_to) override;
  void set_trim_limit(Position limit) override;
  // Hands the leadership to another, to nobody, or back (k_self): for tests of what every engine owes its callers.
  void set_leader(std::optional<std::string> leader);
  std::uint64_t subscribe(EventFn fn) override;
  void unsubscribe(std::uint64_t subscription) override;
  [[nodiscard]] std::optional<std::string> leader() const override;
  [[nodiscard]] bool has_quorum() const override;
  [[nodiscard]] bool wait_leader(std::chrono::milliseconds timeout) override;
  [[nodiscard]] JournalStatus status() const override;
  void close() override;

 private:
  struct AppendMessage {
    Batch batch;
    AnswerFn done;
  };
  struct ReadMessage {
    Read what;
    ReadFn fn;
  };
  struct SnapshotMessage {
    SnapshotFn done;
  };
  struct TrimMessage {
    Position up_to = 0;
  };
  struct TrimLimitMessage {
    Position limit = 0;
  };
  struct LeaderMessage {
    std::optional<std::string> leader;
  };
  struct SubscribeMessage {
    std::uint64_t subscription = 0;
  };
  using Message = std::variant<AppendMessage, ReadMessage, SnapshotMessage, TrimMessage, TrimLimitMessage,
                               LeaderMessage, SubscribeMessage, AsideResult>;
  struct Subscriber {
    std::shared_ptr<EventFn> fn;
    bool told = false;  // how things are; until then it hears nothing
  };

  // False when the journal is closed; the message is then untouched.
  bool post(Message& message);
  void run();
  // Waits for messages, or until the log should be marked idle. False when it is time to end.
  bool take_messages(std::vector<Message>& messages, bool& quiet);
  void handle(Message& message);
  void hand_out_jobs();
  void publish_status();
  void tell_present(std::uint64_t subscription);
  void emit(const JournalEvent& event);

  std::unique_ptr<JournalCore> core_;
  std::atomic<std::thread::id> own_thread_{};
  std::atomic<bool> has_ended_{false};  // own_thread_ touches the machine no more
  std::unique_ptr<AsideThread> spare_thread_;
  std::unique_ptr<AsideThread> slow_thread_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Message> inbox_;
  bool closing_ = false;
  bool waiting_ = false;
  bool idle_marked_ = true;

  std::atomic<Position> applied_{0};
  std::atomic<Position> snapshot_{0};
  std::atomic<bool> stopped_{false};

  std::mutex subscribers_mutex_;
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t next_subscription_ = 1;

  mutable std::mutex leader_mutex_;
  std::condition_variable leader_changed_;
  std::optional<std::string> leader_;

  std::mutex close_mutex_;
  std::thread thread_;
};

}  // namespace skein::inline v0::journal
