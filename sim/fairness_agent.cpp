#include "sim/fairness_agent.hpp"

#include <charconv>
#include <utility>

#include "sim/fairness_world.hpp"

namespace skein::sim {

LabExecutor::LabExecutor(LabWorld& world, std::uint32_t agent, std::uint64_t seed)
    : world_(world), agent_(agent), random_(seed) {}

LabExecutor::~LabExecutor() { world_.saw(LabStep::agent_down, agent_); }

void LabExecutor::start(agent::ExecutorHost& host) {
  host_ = &host;
  world_.saw(LabStep::agent_up, agent_);
  host.ready();
}

void LabExecutor::run(const dispatch::Order& order) {
  const Conduct& conduct = world_.plan().agents[agent_].conduct;
  const auto text = ledger::view_of(order.params);
  std::from_chars(text.data(), text.data() + text.size(), task_);
  running_ = order.ref;
  const bool may_be_bad =
      world_.elapsed() < conduct.bad_until && (conduct.bad_type.empty() || conduct.bad_type == order.shape->type);
  is_bad_ = may_be_bad && random_.chance(conduct.bad_share);
  world_.saw(LabStep::began, agent_, task_);
  host_->started(order.ref);
  Duration takes = conduct.bad_after;
  if (!is_bad_) {
    const auto own = std::chrono::duration<double>(world_.length_of(task_)).count();
    takes = std::chrono::nanoseconds(static_cast<std::int64_t>(own * conduct.pace * 1e9));
  }
  const Self self = host_->process();
  self.send_after(takes, self.pid(), Ripe{order.ref});
}

void LabExecutor::stop(dispatch::TaskRef ref, dispatch::StopReason why) {
  if (running_ != ref) return;
  if (why == dispatch::StopReason::yield && !world_.plan().agents[agent_].conduct.yields) return;
  running_.reset();
  world_.saw(LabStep::gave_back, agent_, task_);
  host_->returned(ref);
}

void LabExecutor::handle(Message message) {
  const auto* ripe = message.get_if<Ripe>();
  if (ripe == nullptr || running_ != ripe->ref) return;
  running_.reset();
  const Conduct& conduct = world_.plan().agents[agent_].conduct;
  if (!is_bad_) {
    world_.saw(LabStep::completed, agent_, task_);
    return host_->complete(ripe->ref, ledger::body_of("true"));
  }
  switch (conduct.misdeed) {
    case Misdeed::fails:
      world_.saw(LabStep::failed, agent_, task_);
      return host_->failed(ripe->ref, {conduct.error, conduct.message, std::nullopt});
    case Misdeed::crashes:
      world_.saw(LabStep::failed, agent_, task_);
      return host_->broken(conduct.message);
    case Misdeed::lies:
      world_.saw(LabStep::lied, agent_, task_);
      return host_->complete(ripe->ref, ledger::body_of("\"garbage\""));
  }
}

LabKeeper::LabKeeper(Self self, LabWorld* world) : world_(world) {
  const auto& agents = world->plan().agents;
  for (std::uint32_t i = 0; i < agents.size(); ++i) self.send_after(agents[i].starts, self.pid(), Start{i});
}

void LabKeeper::handle_info(Self self, Message message) {
  if (const auto* start = message.get_if<Start>()) {
    agents_[self.monitor(world_->start_agent(start->agent)).id] = start->agent;
  } else if (const auto* down = message.get_if<Down>()) {
    const auto at = agents_.find(down->ref.id);
    if (at == agents_.end()) return;
    const std::uint32_t agent = at->second;
    agents_.erase(at);
    self.send_after(world_->plan().agents[agent].starts_again, self.pid(), Start{agent});
  }
}

LabClient::LabClient(Self self, LabWorld* world) : world_(world) { self.send(self.pid(), Next{}); }

void LabClient::handle_info(Self self, Message message) {
  if (message.is<Next>()) submit(self);
}

void LabClient::submit(Self self) {
  const Instant next = world_->submit_due();
  if (next != Instant::max()) self.send_after(next - self.now(), self.pid(), Next{});
}

}  // namespace skein::sim
