// A memory journal without a thread, for a deterministic runtime: a process of it does what a journal's thread does,
// some virtual time after each append. Faults can be asked for. For tests and the simulator; one thread.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/journal/journal.hpp"
#include "skein/journal/memory_core.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::dispatch {

class LocalJournal final : public journal::Journal {
 public:
  // What goes wrong with the appends to come.
  struct Faults {
    std::uint64_t overloaded = 0;       // so many ordinary ones are turned away
    std::uint64_t overloaded_all = 0;   // so many of either kind
    std::uint64_t unknown_lost = 0;     // so many are answered unknown and not done
    std::uint64_t unknown_applied = 0;  // so many are answered unknown and done
  };

  // start() must be called before anything is appended.
  explicit LocalJournal(journal::MachineRef machine, Duration delay = std::chrono::microseconds(100))
      : core_(machine, journal::JournalLimits{}), delay_(delay) {}

  void start(Runtime& runtime) {
    runtime_ = &runtime;
    driver_ = runtime.spawn<Driver>(this);
  }

  void append(journal::Batch batch, journal::AnswerFn done, journal::Urgency urgency) override {
    ++appends;
    if ((urgency == journal::Urgency::ordinary && take_one(faults.overloaded)) || take_one(faults.overloaded_all)) {
      done({journal::Outcome::overloaded, {}, {}, "asked for"});
      return;
    }
    if (take_one(faults.unknown_lost)) {
      done({journal::Outcome::unknown, {}, {}, "asked for"});
      return;
    }
    if (take_one(faults.unknown_applied)) {
      done({journal::Outcome::unknown, {}, {}, "asked for"});
      done = [](const journal::AppendAnswer&) {};
    }
    queue_.push_back({std::move(batch), std::move(done), urgency});
    ring();
  }
  void read(journal::Read what, journal::ReadFn fn) override {
    if (is_closed_) {
      fn({journal::Outcome::stopped, 0, {}, "closed"});
      return;
    }
    reads_.emplace_back(what, std::move(fn));
    ring();
  }
  void snapshot(journal::SnapshotFn done) override { core_.request_snapshot(std::move(done)); }
  void trim(journal::Position) override {}
  void set_trim_limit(journal::Position) override {}
  std::uint64_t subscribe(journal::EventFn) override { return 0; }
  void unsubscribe(std::uint64_t) override {}
  [[nodiscard]] std::optional<std::string> leader() const override { return "here"; }
  [[nodiscard]] bool has_quorum() const override { return true; }
  [[nodiscard]] bool wait_leader(std::chrono::milliseconds) override { return true; }
  [[nodiscard]] journal::JournalStatus status() const override { return {}; }
  void close() override { is_closed_ = true; }

  // Does all that waits, as the journal's thread would.
  void pump() {
    is_rung_ = false;
    for (auto& each : std::exchange(queue_, {})) {
      core_.append(std::move(each.batch), std::move(each.done), each.urgency);
    }
    core_.run_queued();
    for (auto& [what, fn] : std::exchange(reads_, {})) {
      (void)core_.admission().admit_read();
      core_.read(what, std::move(fn));
    }
  }

  Faults faults;
  std::uint64_t appends = 0;

 private:
  struct Pump {};
  struct Driver {
    LocalJournal* journal;
    explicit Driver(LocalJournal* owner) : journal(owner) {}
    void handle_info(Self self, Message message) {
      if (message.is<Ring>()) {
        self.send_after(journal->delay_, self.pid(), Pump{});
      } else if (message.is<Pump>()) {
        journal->pump();
      }
    }
  };
  struct Ring {};
  struct Waiting {
    journal::Batch batch;
    journal::AnswerFn done;
    journal::Urgency urgency = journal::Urgency::ordinary;
  };
  static bool take_one(std::uint64_t& count) {
    if (count == 0) return false;
    --count;
    return true;
  }
  void ring() {
    if (is_rung_ || runtime_ == nullptr) return;
    is_rung_ = runtime_->send(driver_, Ring{}) == SendResult::ok;
  }

  journal::MemoryCore core_;
  Duration delay_;
  Runtime* runtime_ = nullptr;
  Pid driver_;
  bool is_rung_ = false;
  bool is_closed_ = false;
  std::vector<Waiting> queue_;
  std::vector<std::pair<journal::Read, journal::ReadFn>> reads_;
};

}  // namespace skein::inline v0::dispatch
