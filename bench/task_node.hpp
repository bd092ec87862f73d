// The parts of a node that tasks go through, put together for the tasks' workloads: journal, ledger, archive,
// dispatcher, function agents and the operations layer. In memory, or in a folder on the real disk.
//
// start_agents() and what follows are for the thread that made it. The destructor ends everything in order.
#pragma once

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>

#include "skein/agent/function_agent.hpp"
#include "skein/archive/archiver.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/base/random.hpp"
#include "skein/base/thread_job_queue.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/ledger/task.hpp"
#include "skein/operations/operations.hpp"

namespace skein::bench {

class TaskNode {
 public:
  // An empty folder: everything in memory. Otherwise the embedded journal and the archive's SQLite file are there.
  explicit TaskNode(const std::string& dir, dispatch::DispatcherOptions options = {})
      : TaskNode(open_store(dir), [&dir](ledger::Ledger& ledger) { return open(dir, ledger); }, std::move(options)) {}
  // The journal in a folder of another disk, the archive in memory.
  TaskNode(journal::Disk& disk, const std::string& dir)
      : TaskNode(std::make_unique<archive::MemoryStore>(),
                 [&](ledger::Ledger& ledger) { return checked(journal::open_journal(disk, dir, ledger)); }, {}) {}
  TaskNode(const TaskNode&) = delete;
  TaskNode& operator=(const TaskNode&) = delete;
  ~TaskNode() {
    ops_->stop();
    archiver_.stop();
    runtime_.shutdown();
    journal_->close();
    archive_jobs_.stop();
    reads_.stop();
    timers_.stop();
  }

  // Each runs one task after the other and may have `slots` at once.
  void start_agents(std::size_t count, std::uint32_t slots) {
    for (std::size_t i = 0; i < count; ++i) {
      auto options = std::make_unique<agent::FunctionAgentOptions>();
      options->name = "agent-" + std::to_string(i);
      options->capabilities = {"noop"};
      options->prefetch = slots - 1;
      options->function = [](const dispatch::Order&) { return agent::FunctionResult{}; };
      runtime_.spawn<agent::FunctionAgent>(std::move(options));
    }
  }
  // Calls `fn` with the ledger on the journal's thread, and waits for it.
  template <class Fn>
  void on_ledger(Fn fn) {
    std::promise<void> done;
    journal_->read(journal::Read::linear(), [&](const journal::ReadAnswer&) {
      fn(ledger_);
      done.set_value();
    });
    done.get_future().wait();
  }
  [[nodiscard]] operations::Operations& ops() { return *ops_; }
  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] archive::ArchiverStatus archived() const { return archiver_.status(); }

 private:
  template <class Open>
  TaskNode(std::unique_ptr<archive::Store> store, Open open_journal, dispatch::DispatcherOptions options)
      : journal_(open_journal(ledger_)),
        store_(std::move(store)),
        archiver_(*journal_, ledger_, *store_, archive_jobs_) {
    archiver_.start();
    ops_ = operations::Operations::start({*journal_, ledger_, store_.get(), timers_, reads_, 7}, {});
    auto setup = std::make_unique<dispatch::DispatcherSetup>();
    setup->runtime = &runtime_;
    setup->journal = journal_.get();
    setup->ledger = &ledger_;
    setup->options = std::move(options);
    setup->wall_clock = [this] { return timers_.wall_now(); };
    setup->entropy = [this] { return random_.next(); };
    SpawnOptions spawn;
    spawn.name = dispatch::k_dispatcher_name;
    runtime_.spawn_with<dispatch::Dispatcher>(spawn, std::move(setup));
  }
  static std::unique_ptr<journal::Journal> open(const std::string& dir, ledger::Ledger& ledger) {
    if (dir.empty()) return journal::open_memory_journal(ledger);
    return checked(journal::open_journal(dir, ledger));
  }
  template <class T, class E>
  static T checked(std::expected<T, E> opened) {
    if (!opened) throw std::runtime_error(opened.error().describe());
    return std::move(*opened);
  }
  static std::unique_ptr<archive::Store> open_store(const std::string& dir) {
    if (dir.empty()) return std::make_unique<archive::MemoryStore>();
    return checked(archive::SqliteStore::open(dir + "/" + archive::k_archive_file));
  }

  Random random_{0x5EED};
  ledger::Ledger ledger_;
  ThreadJobQueue timers_{"bench-timers"};
  ThreadJobQueue reads_{"bench-reads"};
  ThreadJobQueue archive_jobs_{"bench-archive"};
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<archive::Store> store_;
  archive::Archiver archiver_;
  std::shared_ptr<operations::Operations> ops_;
  Runtime runtime_;
};

}  // namespace skein::bench
