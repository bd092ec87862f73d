// An agent of the simulation: speaks the agents' protocol as it should, and behaves as badly as a world of agents does.
// It finishes, fails, crashes, hangs, answers late, twice or with an old fence, forgets what it holds, goes on with
// what it was told to stop, and loses messages or its whole connection. Once the world is healed it does its work.
//
// A process of the runtime. It lives on when its node dies, and announces itself to the next.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

class StackWorld;

class StackAgent {
 public:
  StackAgent(Self self, StackWorld* world, std::string id, std::vector<std::string> capabilities, std::uint64_t seed);

  StackAgent(const StackAgent&) = delete;
  StackAgent& operator=(const StackAgent&) = delete;
  ~StackAgent();

  void handle_info(Self self, Message message);
  // To it: the connection is lost for a while, or (zero) is back.
  struct CutOff {
    Duration time{};
  };

 private:
  enum class Ends : std::uint8_t { well, badly, never };
  struct Held {
    dispatch::Order order;
    Ends ends = Ends::well;
    bool is_begun = false;  // it waits, as behind another
    bool is_done = false;
    bool is_stubborn = false;  // goes on although told to stop
    bool is_stopped = false;   // was told to, and goes on
    bool answers_twice = false;
    std::uint32_t beats = 0;
    dispatch::RunCompleted complete;
    dispatch::RunFailed failed;
  };
  struct Beat {};
  struct Connect {};
  struct Reconnect {};
  struct Begin {
    dispatch::TaskRef ref;
    Duration takes{};
  };
  struct Ripe {
    dispatch::TaskRef ref;
  };

  void connect(Self self);
  void take(Self self, dispatch::Orders& orders);
  void take_order(Self self, dispatch::Order& order);
  void begin(Self self, const Begin& step);
  void stop(const dispatch::StopTask& stop, dispatch::AgentReport& report);
  void ripe(Self self, dispatch::TaskRef ref);
  void say(const Held& held, dispatch::AgentReport& report);
  void say_with_old_fence(dispatch::AgentReport& report);
  void beat(Self self);
  void send_report(Self self, dispatch::AgentReport report);
  void name_all();
  [[nodiscard]] bool is_cut(Self self) const { return self.now() < cut_until_; }
  // Something bad happens, if bad things still do.
  bool bad(double chance);
  [[nodiscard]] std::vector<dispatch::TaskRef> refs() const;

  StackWorld* world_;
  std::string id_;
  std::vector<std::string> capabilities_;
  Random random_;
  std::uint32_t capacity_;
  bool reports_starts_;
  bool tells_last_words_;
  Pid dispatcher_;
  MonitorRef watch_;
  std::uint64_t seen_ = 0;
  Instant cut_until_{};
  std::map<dispatch::TaskRef, Held> held_;
  std::vector<dispatch::TaskRef> past_;     // assignments it once had
  std::set<dispatch::TaskRef> given_back_;  // to a dispatcher; whether it heard of that or not
};

}  // namespace skein::sim
