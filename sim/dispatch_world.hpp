// A dispatcher's core over a real ledger, with virtual time and agents that do only what they are told; what the core
// decides is written down line by line. For dispatch_script.hpp. One thread.
//
// 1. Nothing happens by itself but heartbeats: each living agent that is not silent beats once a second during wait().
// 2. Unless appends are held, every call ends with nothing left to append: each append is applied at once, in order.
// 3. After each step the core's tables must agree with each other, and after each append the ledger's invariants must
//    hold; std::logic_error says what does not.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/dispatch_words.hpp"
#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {

class DispatchWorld final : public ledger::ChangeSink {
 public:
  static constexpr std::size_t k_steps_max = 10'000;  // for one thing that happened, and in one wait; then it is a loop

  explicit DispatchWorld(const dispatch::DispatcherOptions& options);
  ~DispatchWorld() override;

  // What was decided since the last call.
  [[nodiscard]] std::vector<std::string> take_lines();
  [[nodiscard]] ledger::WallMs wall() const { return moment_.wall; }
  // Throws std::invalid_argument for a name that no task has.
  [[nodiscard]] ledger::TaskId task_id(std::string_view name) const;

  // Clients and operators. A refusal is a line.
  void submit(const std::string& name, ledger::Submit op);
  void cancel(std::string_view task);
  void put_swarm(const std::string& name, const ledger::Fields& fields);
  void set_swarm_state(const std::string& name, ledger::SwarmState state);
  void pause(const std::string& agent, bool is_paused);

  // Agents. They throw std::invalid_argument for a name that nobody has, or a task that the agent never got.
  void announce(const std::string& agent, dispatch::AgentReady ready);  // a new process, or the living one again
  void announce_again(std::string_view agent);
  void started(std::string_view agent, std::string_view task);
  void progressed(std::string_view agent, std::string_view task, std::string_view mark);
  void completed(std::string_view agent, std::string_view task, std::optional<ledger::Fence> fence);
  void failed(std::string_view agent, std::string_view task, dispatch::RunFailed failure);
  void returned(std::string_view agent, std::string_view task);
  void said_last_words(std::string_view agent, std::string_view task, std::string_view text);
  void forgot(std::string_view agent, std::string_view task);
  void beat(std::string_view agent);
  void fell_silent(std::string_view agent);
  void went_down(std::string_view agent, bool is_graceful);

  // The dispatcher and its surroundings.
  void hold_appends();
  void apply_one();  // the oldest that is held; std::invalid_argument when there is none
  void release_appends();
  void wait(Duration time);
  void stall(Duration time);        // the dispatcher gets no turn, the clock goes on
  void stand_still(Duration time);  // the whole program does, and its clock with it
  void restart_dispatcher();        // what was to be appended is lost; agents live on
  void restart_node();              // its agents have died as well
  void take_over();                 // by the dispatcher of another node
  void tell_wake();
  void tell_tasks();

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override;

 private:
  struct Agent {
    dispatch::AgentReady ready;
    Pid pid;
    std::map<std::string, dispatch::TaskRef, std::less<>> known;  // the last order for each task
    std::vector<dispatch::TaskRef> held;                          // not yet settled, stopped or returned
    std::uint64_t seen = 0;
    bool is_alive = true;
    bool is_silent = false;
  };

  void begin();
  void line(std::string_view text);
  ledger::OpResult run(const ledger::Op& op);
  void client(const ledger::Op& op);
  void report(const Agent& agent, dispatch::AgentReport report);
  void step();
  void settle();
  void apply(const dispatch::Append& append);
  void tell_refusals(const std::vector<std::string>& answers, const dispatch::Append& append);
  void hand_over();
  void deliver(Pid pid, dispatch::Orders& orders);
  void advance_to(Instant to);
  void send_beat(Agent& agent);
  void beat_all();
  void lose_dispatcher();
  [[nodiscard]] Agent& living(std::string_view name);
  [[nodiscard]] const dispatch::TaskRef& known(std::string_view agent, std::string_view task);
  [[nodiscard]] std::string task_name(ledger::TaskId id) const;
  [[nodiscard]] std::string agent_name(Pid pid) const;
  [[nodiscard]] DispatchNames names() const;

  dispatch::DispatcherOptions options_;
  ledger::Ledger ledger_;
  std::unique_ptr<dispatch::DispatcherCore> core_;
  dispatch::Moment moment_;
  Duration elapsed_{};
  Instant wake_at_ = Instant::max();
  std::uint64_t seed_ = 1;
  journal::Position position_ = 0;
  std::map<std::string, Agent, std::less<>> agents_;
  std::uint32_t processes_ = 0;  // so far
  std::vector<std::string> task_names_;
  std::deque<dispatch::Append> pending_;
  std::vector<std::shared_ptr<const ledger::ChangeBatch>> changes_;
  std::vector<std::string> lines_;
  std::optional<Instant> waits_since_;  // lines begin with the time since then
  bool is_begun_ = false;
  bool is_held_ = false;
};

}  // namespace skein::sim
