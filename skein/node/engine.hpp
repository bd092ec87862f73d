// consensus_sup's children: what keeps the journal's folder, and what runs the journal in it.
//
// The journal and the ledger it is applied to belong to the JournalEngine process and are published in the context's
// slot. Users hold them by shared_ptr for a while. A restarted engine closes the journal of the one before, which lets
// go of the folder, or waits while the last user destroys it. Users watch the process (Engine::owner) and end with it.
#pragma once

#include <future>
#include <memory>
#include <string>

#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::node {

struct NodeContext;

struct Engine {
  std::promise<void> gone;  // first, so destroyed last: its future is ready when the folder is free
  ledger::Ledger ledger;
  std::unique_ptr<journal::Journal> journal;
  Pid owner;

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() {
    if (journal) journal->close();
  }
};

// Makes the folder and looks at it before the engine opens it, and watches how much room its disk has.
class DiskWatch {
 public:
  DiskWatch(Self self, std::shared_ptr<NodeContext> context);
  Async<Init> init(Self self);
  void handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Look {};
  void look(Self self);

  std::shared_ptr<NodeContext> context_;
  std::string folder_;
  std::uint64_t free_bytes_ = 0;
  bool is_full_ = false;
};

// Opens the journal (its start ends when the ledger is up to date) and closes it.
class JournalEngine {
 public:
  JournalEngine(Self self, std::shared_ptr<NodeContext> context);
  ~JournalEngine();
  JournalEngine(const JournalEngine&) = delete;
  JournalEngine& operator=(const JournalEngine&) = delete;

  Async<Init> init(Self self);
  void handle_info(Self self, Message message);
  Async<void> terminate(Self self, ExitReason reason);
  [[nodiscard]] std::string describe() const;

 private:
  struct Stopped {
    std::string why;
  };
  struct DiskRoom {
    bool is_low = false;
    std::string detail{};
  };
  struct Snapshot {
    std::string failure{};  // empty: it was taken
  };
  void log_room(const DiskRoom& room) const;

  std::shared_ptr<NodeContext> context_;
  std::shared_ptr<Engine> engine_;
  std::uint64_t subscription_ = 0;
  std::string snapshot_failure_;
};

}  // namespace skein::inline v0::node
