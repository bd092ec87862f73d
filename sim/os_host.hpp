// What hosts of agents that are OS processes have in common: a folder, journal, ledger, operations, runtime, registry
// and launcher, all real. To be used from one thread. A derived class calls end() in its destructor, while what
// the parts refer to is still there.
#pragma once

#include <memory>
#include <string>

#include "skein/base/thread_job_queue.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/journal/journal.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/operations/operations.hpp"
#include "skein/registry/registry.hpp"

namespace skein::sim {

class OsHost {
 public:
  OsHost(const OsHost&) = delete;
  OsHost& operator=(const OsHost&) = delete;
  [[nodiscard]] launcher::OsCounts counts() const { return os_->counts(); }

 protected:
  // Makes its folder under the system's temporary one. The mark is NAME=VALUE, with a value that nobody else has.
  OsHost(const std::string& folder_prefix, const std::string& mark_name);
  ~OsHost() = default;

  // Opens the journal and starts everything but the dispatcher; `sink` hears all changes, if there is one.
  void begin(ledger::ChangeSink* sink = nullptr);
  // Stops everything and removes the folder.
  void end();
  [[nodiscard]] std::unique_ptr<dispatch::DispatcherSetup> dispatcher_setup();

  std::string folder_;
  std::string mark_;  // in the environment of the agents' programs, so that they can be found
  ThreadJobQueue jobs_{"sim-jobs"};
  ledger::Ledger ledger_;
  std::unique_ptr<journal::Journal> journal_;
  std::shared_ptr<operations::Operations> operations_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<RegistryTable> registry_;
  std::shared_ptr<launcher::OsProcesses> os_;
};

}  // namespace skein::sim
