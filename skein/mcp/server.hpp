// MCP on a node: what all its clients share, and the Driver that ties one McpCore to the process that serves its
// client.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/mcp/core.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/methods.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::mcp {

// The sessions to notify of changes that a client made. Any thread.
class Bulletin {
 public:
  explicit Bulletin(Runtime& runtime) : runtime_(runtime) {}
  void join(Pid pid);
  void leave(Pid pid);
  // Each of them is sent the Change.
  void post(const Change& change);

 private:
  Runtime& runtime_;
  std::mutex mutex_;
  std::set<Pid> readers_;
};

struct Server {
  Runtime* runtime = nullptr;
  std::shared_ptr<operations::NodeHooks> hooks;
  std::shared_ptr<const Catalog> catalog;
  std::shared_ptr<const Sealer> sealer;
  std::shared_ptr<Bulletin> bulletin;
  std::function<void(const std::string& line)> log{};  // of faults of ours; any thread; may be empty
};
using ServerPtr = std::shared_ptr<const Server>;

// Belongs to one process, and is called in its handlers only. What the McpCore sends goes to the Sink.
class Driver final : private Outlet {
 public:
  class Sink {
   public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void send(StreamId to, json::object message, Then then, int status) = 0;
    // See Outlet.
    virtual void send_batch(StreamId to, std::vector<json::object> answers) {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        send(to, std::move(answers[i]), i + 1 < answers.size() ? Then::more : Then::end, net::http_status::k_ok);
      }
    }
    virtual void end(StreamId stream) = 0;
    virtual void let_go(StreamId stream) = 0;
    // The token of the client at the other end is no longer valid; a client that listened has been told.
    virtual void expelled(const operations::Error& /*why*/) {}
  };

  Driver(Self self, ServerPtr server, operations::PrincipalPtr who, Sink& sink);
  ~Driver() override;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] McpCore& core() { return core_; }
  [[nodiscard]] const McpCore& core() const { return core_; }
  // A message to the process. False: it is not for MCP.
  bool take(Message& message);
  // From now on it is looked at every k_standing_check whether the token still works; when it does not, who listens and
  // the Sink are told. For transports that stay open; subscriptions/listen asks for it by itself.
  void watch_standing();

 private:
  struct Wake {
    std::uint64_t timer = 0;
  };
  struct EventsReady {};
  struct LookForEvents {};
  struct Following {};  // the events are followed from here on
  struct StandingCheck {};

  void send(StreamId to, json::object message, Then then, int status) override;
  void send_batch(StreamId to, std::vector<json::object> answers) override;
  void end(StreamId stream) override;
  void let_go(StreamId stream) override;
  void ask_node(std::uint64_t call, std::string_view op, json::object params) override;
  void ask_standing(std::uint64_t call) override;
  void give_up(std::uint64_t call) override;
  void wake_after(std::uint64_t timer, std::chrono::milliseconds time) override;
  void watch(Watch what) override;
  void announce(const Change& change) override;

  void follow_events();
  void pump_events();
  void expel();

  Self self_;
  ServerPtr server_;
  Sink& sink_;
  McpCore core_;
  std::map<std::uint64_t, std::shared_ptr<operations::WaitTicket>> waits_;  // task_wait that are not answered, by call
  bool wants_events_ = false;
  bool is_behind_ = false;                       // there were events that nobody told of
  bool is_watching_standing_ = false;            // a StandingCheck is on its way
  std::shared_ptr<operations::Operations> ops_;  // keeps the event stream alive; let go when it must end
  std::unique_ptr<operations::EventStream::Subscription> events_;
};

}  // namespace skein::inline v0::mcp
