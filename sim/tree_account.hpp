// An account of what supervisors must do, kept beside them and without their code.
//
// It is told facts as they happen: who is being started (by the start functions themselves), what supervisors report,
// who was ended from outside and what was asked of whom. From a supervisor's own past it says what may come next, and
// notes every step that may not: a start nobody asked for, a restart too many or too few, a sibling left running while
// its group restarts, a stop out of order. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skein/supervision/events.hpp"
#include "skein/supervision/supervisor_calls.hpp"

namespace skein::sim {

struct AccountChild {
  std::string name;
  Restart restart = Restart::permanent;
  bool significant = false;
  bool isolated = false;
  bool is_supervisor = false;
  Budget budget = {};
};

struct AccountSupervisor {
  std::string name;
  SupervisorFlags flags;
  std::vector<AccountChild> children;  // in start order; of a pool: how all its children are
};

enum class StartOutcome : std::uint8_t { ok, ignored, failed };
enum class CallVerb : std::uint8_t { terminate, restart, remove, start };

class TreeAccount {
 public:
  // `alive` says whether a process lives, at this moment.
  explicit TreeAccount(std::function<bool(Pid)> alive) : alive_(std::move(alive)) {}

  void declare(AccountSupervisor supervisor);
  // A start function begins and ends, in the supervisor's process.
  void starting(Pid supervisor, const std::string& name, const std::string& child, Instant now);
  void started(Pid supervisor, const std::string& child, StartOutcome outcome, Pid pid);
  void reported(const SupervisionEvent& event);
  // Ended, or told to end, by the test.
  void hit(Pid pid) { hit_.insert(pid.bits()); }
  // At most one call at a time to a supervisor.
  void call_begins(Pid supervisor, CallVerb verb, const std::string& child);
  void call_ended(Pid supervisor, bool ok);
  [[nodiscard]] bool has_call(Pid supervisor) const;
  // Nothing moves any more: are the children of this living supervisor what they should be?
  void at_rest(Pid supervisor, const std::string& name, const std::vector<ChildInfo>& children);

  // A moment from `now` on at which a window that is full has its oldest restart exactly a period old, and a child
  // whose end must then not be forgiven.
  struct Edge {
    Instant at;
    Pid child;
  };
  [[nodiscard]] std::optional<Edge> edge(Instant now) const;

  void violation(std::string what) { violations_.push_back(std::move(what)); }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  // How much was judged: a run in which nothing restarted proves nothing.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] std::uint64_t give_ups() const { return give_ups_; }
  // Supervisors whose window could not be followed to the end.
  [[nodiscard]] std::uint64_t unjudged() const { return unjudged_; }

 private:
  enum class State : std::uint8_t { absent, down, running, waiting };
  struct Kept {
    AccountChild spec;
    State state = State::down;
    Pid pid;
    bool pending = false;  // it is to be started again
    bool counted = false;  // and that restart is in the window already
    bool parked = false;
    bool optional = false;  // a call may have cancelled it
    std::uint64_t since = 0;
    std::vector<Instant> own;  // restarts in its own budget
  };
  struct Call {
    CallVerb verb;
    std::string child;
    std::uint64_t since;
  };
  struct Instance {
    const AccountSupervisor* model = nullptr;
    std::vector<Kept> children;
    std::vector<Instant> window;
    std::vector<std::string> agenda;  // who must be started next, in this order
    std::string asked;                // who is being started for a call
    std::optional<Call> call;
    std::string must_park;
    bool init = true;
    bool must_end = false;
    bool must_give_up = false;
    bool unsure = false;  // its window cannot be known from outside: not judged any more
  };

  Instance& open(Pid supervisor, const std::string& name);
  [[nodiscard]] static Kept* find(Instance& instance, std::string_view name);
  [[nodiscard]] static Kept* find(Instance& instance, Pid pid);
  [[nodiscard]] static bool room(const std::vector<Instant>& window, std::uint32_t intensity, Duration period,
                                 Instant now);
  [[nodiscard]] static std::vector<Kept*> group(Instance& instance, const Kept& cause);
  bool begin_group(Instance& instance, const std::string& child, Instant now);
  bool count_retry(Instance& instance, Kept& kept, Instant now);
  void terminated(Instance& instance, const SupervisionEvent& event);
  void judge_end(Instance& instance, const Kept& kept, const SupervisionEvent& event);
  void gave_up(Instance& instance, const SupervisionEvent& event);
  void parked(Instance& instance, const SupervisionEvent& event);
  void stopped(Instance& instance, const SupervisionEvent& event);
  static void quiet_group(Instance& instance, const SupervisionEvent& event);
  static void drop(Instance& instance, Kept& kept);
  void wait(Kept& kept, bool counted);
  void blame(const Instance& instance, const std::string& what);

  std::function<bool(Pid)> alive_;
  std::map<std::string, AccountSupervisor> models_;
  std::map<std::uint64_t, Instance> instances_;
  std::set<std::uint64_t> hit_;
  std::vector<std::string> violations_;
  std::uint64_t serial_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t give_ups_ = 0;
  std::uint64_t unjudged_ = 0;
};

}  // namespace skein::sim
