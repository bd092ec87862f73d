#include "skein/dispatch/order_mail.hpp"

#include "skein/base/must_hold.hpp"

#include <algorithm>

namespace skein::inline v0::dispatch {

Order order_for(const Run& run, const TaskRecord& task, Duration timeout) {
  must_hold(run.ref.fence != 0, "dispatcher_core.hpp 1: the assign was applied");
  Order order;
  order.ref = run.ref;
  order.id = task.id;
  order.shape = *task.shared_shape;
  order.params = task.params;
  if (task.past) order.mark = task.past->mark;
  order.extras = task.extras;
  order.timeout = timeout;
  order.attempt = task.attempts + 1;
  return order;
}

Orders& OrderMail::to(SlotNumber slot) {
  AgentRecord& agent = tables_.agents[slot];
  if (!agent.is_in_mail) {
    agent.is_in_mail = true;
    waiting_.push_back(slot);
  }
  return agent.its_mail().out;
}

bool OrderMail::has_order(const AgentRecord& agent, TaskRef ref) {
  return agent.mail && std::ranges::any_of(agent.mail->out.run, [&](const Order& each) { return each.ref == ref; });
}

void OrderMail::stop(Run& run, StopReason why) {
  if (run.told == Told::to_stop || !run.is_at_agent() || !tables_.agents[run.agent].pid) return;
  run.tell(Told::to_stop);
  to(run.agent).stop.push_back({run.ref, why});
}

void OrderMail::ask_to_yield(Run& run) {
  run.tell(Told::to_yield);
  to(run.agent).stop.push_back({run.ref, StopReason::yield});
}

void OrderMail::ask_to_return(std::span<const SlotNumber> runs, Instant now) {
  for (const SlotNumber each : runs) {
    Run& run = tables_.runs[each];
    must_hold(run.state == RunState::held, "returning.hpp 1: what has begun is left alone");
    run.return_asked_at = now;
    to(run.agent).stop.push_back({run.ref, StopReason::return_unbegun});
  }
}

void OrderMail::take(std::vector<std::pair<Pid, Orders>>& out, Instant now) {
  for (const SlotNumber slot : waiting_) {
    AgentRecord& agent = tables_.agents[slot];
    if (!std::exchange(agent.is_in_mail, false) || !agent.mail) continue;
    Orders orders = std::exchange(agent.mail->out, Orders{});
    if (!agent.pid || orders.empty()) continue;
    must_hold(agent.state != AgentPresence::away, "order_mail.hpp 3: the agent has a process");
    orders.sequence = ++agent.sequence;
    agent.sent_at = now;
    out.emplace_back(agent.pid, std::move(orders));
  }
  waiting_.clear();
}

}  // namespace skein::inline v0::dispatch
