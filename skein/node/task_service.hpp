// The process `ledger` under work_sup: serves the operations on tasks and runs the archive, with their threads, on top
// of an Engine.
//
// The LedgerService process makes a TaskService when it starts, declares what the config says (limits, swarms), and
// publishes it in the context's slot. It ends when its engine does; work_sup is rest_for_one, so dispatcher and swarms
// go with it. While it runs it sees to it that every swarm with agents of its own has a coordinator in the pool
// `swarms`.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "skein/archive/archiver.hpp"
#include "skein/archive/no_store.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/base/thread_job_queue.hpp"
#include "skein/node/config.hpp"
#include "skein/node/engine.hpp"
#include "skein/node/failure_log.hpp"
#include "skein/operations/operations.hpp"

namespace skein::inline v0::node {

struct WorkStart {
  bool accept_loss = false;  // what journal and archive lack is recorded, and the node goes on
  // Called with the archive's messages, while the archive is here. Any thread.
  std::function<void(bool is_bad, const std::string& text)> log;
  std::shared_ptr<operations::Access> access{};  // see operations::Parts
  std::function<std::expected<void, std::string>(const std::string& secret)> keep_first{};
};

// Its parts end in the order their headers ask for.
class TaskService {
 public:
  // May block. Throws std::runtime_error with what to do. Processes of the runtime can be notified of the end of tasks.
  TaskService(std::shared_ptr<Engine> engine, const Config& config, std::uint64_t seed, Runtime& runtime,
              const WorkStart& start = {});
  ~TaskService();
  TaskService(const TaskService&) = delete;
  TaskService& operator=(const TaskService&) = delete;

  [[nodiscard]] operations::Operations& operations() { return *operations_; }
  [[nodiscard]] Engine& engine() { return *engine_; }
  // The faults of the folder that were found at the start, and mended or accepted.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // Held while a config is put into force, and while swarms are withdrawn. Without it a withdrawal by the old config
  // could withdraw a swarm that the new config declares again.
  [[nodiscard]] std::unique_lock<std::mutex> declaring() { return std::unique_lock(declaring_); }
  // Limits and swarms of the config, where the ledger's differ. May block. Answers what was changed.
  [[nodiscard]] std::vector<std::string> declare(const Config& config);
  // Swarms that a config has declared and this one does not: gone if they are empty, else once they are. May block.
  // A swarm that somebody has paused or stopped, and that has open tasks, is kept until it is resumed. Answers what
  // was changed, with Told::all also which ones stay.
  enum class Told : std::uint8_t { changes, all };
  [[nodiscard]] std::vector<std::string> withdraw(const Config& config, Told which = Told::all);
  [[nodiscard]] std::vector<std::string> swarm_names();  // may block
  // Drops the overrides of the config's swarms: a reload ends run-time changes. May block. Answers what was changed.
  [[nodiscard]] std::vector<std::string> drop_overrides();

 private:
  // Where the archive's news is sent; the archiver may hold it a little longer than this.
  struct News {
    std::mutex mutex;
    std::function<void(bool, const std::string&)> log;
    operations::EventStream* events = nullptr;
    void tell(const archive::ArchiverNews& news);
  };

  std::shared_ptr<Engine> engine_;
  std::vector<std::string> warnings_;
  std::shared_ptr<News> news_;
  ThreadJobQueue timers_{"skein-timers"};
  ThreadJobQueue reads_{"skein-reads"};
  ThreadJobQueue archiving_{"skein-archive"};
  std::unique_ptr<archive::SqliteStore> store_;  // null: the config wants none
  archive::NoStore nowhere_;                     // then
  std::unique_ptr<archive::Archiver> archiver_;
  std::shared_ptr<operations::Operations> operations_;
  std::mutex declaring_;
};

class LedgerService {
 public:
  LedgerService(Self self, std::shared_ptr<NodeContext> context);
  ~LedgerService();
  LedgerService(const LedgerService&) = delete;
  LedgerService& operator=(const LedgerService&) = delete;

  Async<Init> init(Self self);
  Async<void> handle_info(Self self, Message message);
  Async<void> terminate(Self self, ExitReason reason);
  [[nodiscard]] std::string describe() const;

 private:
  struct Look {};
  struct SwarmsChanged {};
  struct SwarmsAre {
    std::vector<std::string> names;  // of those that need a coordinator
    bool has_undeclared = false;     // there is one that the config no longer declares
  };
  void withdraw();
  void look(Self self);
  void take_changes(Self self);
  void watch(Self self, Pid coordinator);
  Async<void> withdraw_swarms(Self self);
  Async<void> start_coordinators(Self self, std::vector<std::string> names);

  std::shared_ptr<NodeContext> context_;
  std::shared_ptr<TaskService> work_;
  std::unique_ptr<operations::EventStream::Subscription> changes_;  // of swarms, and tasks that failed
  FailureLog failure_log_;
  Pid pool_;                         // of swarms, whose coordinators were started
  std::unordered_set<Pid> watched_;  // coordinators
  bool is_asking_ = false;
  bool has_changed_ = true;
  bool has_undeclared_ = false;  // there are swarms that the config no longer declares
  Instant withdraw_due_ = Instant::min();
};

inline constexpr std::string_view k_swarms_name = "swarms";  // the pool's registered name

}  // namespace skein::inline v0::node
