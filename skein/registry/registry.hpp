// The registry's process: monitors those who own something in a RegistryTable and removes what the dead owned.
//
// It keeps no state that matters: a restarted one monitors all owners again, and no entry of a living process is
// lost. Start it as a permanent child; the owner of the table keeps it across restarts. It also holds the waits of
// await_agent; those who wait while it dies are told `unavailable`.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <vector>

#include "skein/registry/registry_table.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

struct AwaitAgent {
  using Answer = RegistryResult<Pid>;
  std::string id;
  Duration timeout = k_forever;
};

class Registry {
 public:
  Registry(Self self, std::shared_ptr<RegistryTable> table);

  struct MonitorOwners {
    std::vector<Pid> owners;
  };
  Async<void> handle_continue(Self self, MonitorOwners step);
  void handle_info(Self self, Message message);
  void handle_call(Self self, AwaitAgent request, Reply<RegistryResult<Pid>> reply);
  [[nodiscard]] std::string describe() const;

 private:
  struct Wait {
    std::string name;
    Reply<RegistryResult<Pid>> reply;
    TimerRef timer;
    Pid caller;
    MonitorRef monitor;
  };
  struct NameWaits {
    WatchRef watch;
    std::vector<std::uint64_t> ids;
  };

  void answer(Self self, std::uint64_t id, const RegistryResult<Pid>& result);
  void answer_all(Self self, const std::string& name, Pid holder);

  std::shared_ptr<RegistryTable> table_;
  std::uint64_t next_wait_ = 0;
  boost::unordered_flat_map<std::uint64_t, Wait> waits_;
  boost::unordered_flat_map<std::string, NameWaits> names_;
  boost::unordered_flat_map<Pid, std::uint64_t, std::hash<Pid>> callers_;  // a process waits for one name at a time
};

// co_await it in a process: waits until somebody has the name.
Async<RegistryResult<Pid>> await_agent(Self self, RegistryTable& table, std::string id, Duration timeout);

}  // namespace skein::inline v0
