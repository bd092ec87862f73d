// The dispatcher: the process that gives tasks to agents. It connects a DispatcherCore with the journal, the ledger,
// agents and timers, and decides nothing itself.
//
// It begins by appending take_dispatch, then takes the ledger's state and its changes from there on in one callback of
// Journal::read. When it crashes and is started again it rebuilds everything that way, and agents announce themselves
// again: nothing is lost or revoked. Agents find it by its registered name (SpawnOptions::name).
//
// The journal, the ledger and the runtime must outlive it. Callbacks of the journal only put something into its inbox.
// Appends are repeated under the same ids until they are applied, so the core never hears of overload. It ends by
// itself with shutdown(...) when another dispatcher has taken over, and with a custom reason when the journal stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/dispatch/dispatcher_inbox.hpp"
#include "skein/journal/append_again.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::dispatch {

inline constexpr std::string_view k_dispatcher_name = "dispatcher";

// The setup of a dispatcher.
struct DispatcherSetup {
  Runtime* runtime = nullptr;
  journal::Journal* journal = nullptr;
  ledger::Ledger* ledger = nullptr;
  DispatcherOptions options;
  std::function<ledger::WallMs()> wall_clock;
  // Numbers no dispatcher has had before, also not the one of before a restart: they begin the ids of its commands.
  std::function<std::uint64_t()> entropy;
  std::function<void(const DispatchEvent&)> on_event;  // in the dispatcher's process; may be empty
  // Learned by an earlier dispatcher, as on_learned was told; empty: it starts from scratch.
  std::string learned{};
  // Told what was learned: every options.learned_every if there is news, and when the dispatcher ends, however that
  // is. In the dispatcher's process: it must not block. May be empty.
  std::function<void(std::string)> on_learned{};
};

struct DispatcherStatus {
  bool has_state = false;
  std::size_t tasks = 0;
  std::size_t ready = 0;
  std::size_t runs = 0;
  std::size_t agents = 0;
  std::size_t appends_under_way = 0;
  DispatchCounters counters;
};
struct GetDispatcherStatus {};
struct GetSwarmLoad {
  std::string swarm;
};
// The agents and types that get nothing at the moment, and why; see passed_over.hpp.
struct GetPassedOver {
  std::string agent;  // empty: all agents
};
using PassedOverAnswer = std::vector<PassedOver>;

struct SwarmLoadAnswer {
  bool has_state = false;         // false: the dispatcher has just begun, and knows nothing yet
  std::optional<SwarmLoad> load;  // nothing: there is no such swarm
};

class Dispatcher {
 public:
  Dispatcher(Self self, std::unique_ptr<DispatcherSetup> setup);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher();

  struct Begin {};
  void handle_continue(Self self, Begin step);
  void handle_info(Self self, Message message);
  DispatcherStatus handle_call(Self self, GetDispatcherStatus request);
  SwarmLoadAnswer handle_call(Self self, const GetSwarmLoad& request);
  PassedOverAnswer handle_call(Self self, const GetPassedOver& request);
  [[nodiscard]] std::string describe() const;

 private:
  struct Flush {};
  struct Wake {
    std::uint64_t number = 0;
  };
  struct TakeAgain {};
  struct StateAgain {};
  struct RepeatAppend {
    std::uint64_t append = 0;
  };
  struct UnderWay {
    journal::Batch batch;
    journal::Urgency urgency = journal::Urgency::ordinary;
    journal::AppendAgain again;
  };

  [[nodiscard]] Moment moment(Self self) const { return {self.now(), setup_->wall_clock()}; }
  [[nodiscard]] journal::CommandId next_id() { return {id_high_, ++id_low_}; }
  void take_dispatch();
  void ask_for_state();
  void look_into_inbox(Self self);
  void take(Self self, InboxItem& item);
  void on_dispatch_taken(Self self, const journal::AppendAnswer& answer);
  void tell_refusal(const ledger::OpResult& result);
  void on_answer(Self self, AppendAnswered& item);
  void append(std::uint64_t number);
  void flush_later(Self self);
  void flush(Self self);
  void set_wake(Self self, Instant at);
  void note_pauses(Self self);
  void hand_over_learned();
  // True when the message was an agent's.
  bool from_agent(Self self, Message message);

  std::unique_ptr<DispatcherSetup> setup_;
  DispatcherCore core_;
  std::shared_ptr<DispatcherInbox> inbox_;
  std::uint64_t id_high_;
  std::uint64_t id_low_ = 0;
  ledger::Epoch epoch_ = 0;
  const journal::AppendAgainLimits again_;
  journal::AppendAgain take_again_;
  std::shared_ptr<bool> is_sink_added_;  // written on the journal's thread, and read there alone
  bool is_asking_ = false;
  Duration lost_{};  // in pauses of the program, as far as the core knows
  bool is_flushing_ = false;
  bool is_over_ = false;
  bool has_told_refusal_ = false;
  Instant learned_due_ = Instant::min();
  std::uint64_t learned_told_ = 0;  // changes of the table when it was handed over last
  Instant wake_at_ = Instant::max();
  TimerRef wake_timer_;
  std::uint64_t wakes_ = 0;
  std::map<std::uint64_t, UnderWay> under_way_;
  std::unordered_map<Pid, MonitorRef> monitors_;
};

}  // namespace skein::inline v0::dispatch
