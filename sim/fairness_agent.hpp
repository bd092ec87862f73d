// The made-up parts of the fairness laboratory: an executor that works as its plan says, a keeper that starts agents
// and starts them again after a crash, and a client that submits tasks when they are planned. Processes of the
// laboratory's runtime, or parts of one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "skein/agent/executor.hpp"
#include "skein/base/random.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

class LabWorld;

class LabExecutor final : public agent::Executor {
 public:
  LabExecutor(LabWorld& world, std::uint32_t agent, std::uint64_t seed);
  ~LabExecutor() override;

  void start(agent::ExecutorHost& host) override;
  void run(const dispatch::Order& order) override;
  void stop(dispatch::TaskRef ref, dispatch::StopReason why) override;
  void handle(Message message) override;
  [[nodiscard]] std::string describe() const override { return "an executor of the laboratory"; }

 private:
  struct Ripe {
    dispatch::TaskRef ref;
  };

  LabWorld& world_;
  std::uint32_t agent_;
  Random random_;
  agent::ExecutorHost* host_ = nullptr;
  std::optional<dispatch::TaskRef> running_;
  std::uint32_t task_ = 0;
  bool is_bad_ = false;  // what runs will not go well
};

class LabKeeper {
 public:
  LabKeeper(Self self, LabWorld* world);
  void handle_info(Self self, Message message);

 private:
  struct Start {
    std::uint32_t agent = 0;
  };
  LabWorld* world_;
  std::map<std::uint64_t, std::uint32_t> agents_;  // by monitor
};

class LabClient {
 public:
  LabClient(Self self, LabWorld* world);
  void handle_info(Self self, Message message);

 private:
  struct Next {};
  void submit(Self self);
  LabWorld* world_;
};

}  // namespace skein::sim
