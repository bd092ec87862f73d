#include "skein/registry/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::inline v0 {
namespace {

struct WaitOver {
  std::uint64_t id = 0;
};

constexpr std::size_t k_owners_in_a_turn = 256;

RegistryResult<Pid> waited(std::expected<RegistryResult<Pid>, CallError> answer) {
  if (!answer) return registry_error(RegistryFailure::unavailable);
  return std::move(*answer);
}

}  // namespace

Registry::Registry(Self self, std::shared_ptr<RegistryTable> table) : table_(std::move(table)) {
  self.continue_with<Registry>(MonitorOwners{table_->attach(self.pid())});
}

Async<void> Registry::handle_continue(Self self, MonitorOwners step) {
  for (std::size_t i = 0; i < step.owners.size(); ++i) {
    (void)self.monitor(step.owners[i]);
    if (i % k_owners_in_a_turn == k_owners_in_a_turn - 1) {
      auto turn = self.yield();
      co_await turn;
    }
  }
}

void Registry::handle_info(Self self, Message message) {
  if (message.is<detail::NewOwners>()) {
    const std::vector<Pid> owners = table_->take_new_owners(k_owners_in_a_turn);
    for (const Pid owner : owners) (void)self.monitor(owner);
    if (owners.size() == k_owners_in_a_turn) table_->wake_again();
  } else if (const Down* down = message.get_if<Down>()) {
    const auto waiting = callers_.find(down->pid);
    if (waiting != callers_.end() && waits_.at(waiting->second).monitor == down->ref) {
      answer(self, waiting->second, registry_error(RegistryFailure::unavailable));
    } else {
      table_->process_ended(down->pid);
    }
  } else if (const NameEvent* event = message.get_if<NameEvent>()) {
    if (event->pid) answer_all(self, event->name, event->pid);
  } else if (const WaitOver* over = message.get_if<WaitOver>()) {
    answer(self, over->id, registry_error(RegistryFailure::timeout));
  }
}

void Registry::handle_call(Self self, AwaitAgent request, Reply<RegistryResult<Pid>> reply) {
  if (auto found = table_->find_agent(request.id)) {
    reply(found);
    return;
  }
  if (waits_.size() >= table_->limits().waits) {
    reply(registry_limit(RegistryFailure::full, table_->limits().waits));
    return;
  }
  NameWaits& waits = names_[request.id];
  if (waits.ids.empty()) {
    // Follows the name, so its first event names the present holder: none can be missed.
    const auto watch = table_->watch_name(request.id, self.pid(), WatchMode::follow);
    if (!watch) {
      names_.erase(request.id);
      reply(std::unexpected(watch.error()));
      return;
    }
    waits.watch = *watch;
  }
  const std::uint64_t id = ++next_wait_;
  waits.ids.push_back(id);
  const Pid caller = reply.caller();
  Wait wait{std::move(request.id), std::move(reply), {}, caller, {}};
  if (request.timeout != k_forever) wait.timer = self.send_after(request.timeout, self.pid(), WaitOver{id});
  if (caller) {
    wait.monitor = self.monitor(caller);
    callers_[caller] = id;
  }
  waits_.emplace(id, std::move(wait));
}

void Registry::answer(Self self, std::uint64_t id, const RegistryResult<Pid>& result) {
  const auto at = waits_.find(id);
  if (at == waits_.end()) return;
  Wait wait = std::move(at->second);
  waits_.erase(at);
  wait.reply(result);
  if (wait.timer) self.cancel(wait.timer);
  if (wait.monitor) {
    self.demonitor(wait.monitor);
    callers_.erase(wait.caller);
  }
  const auto named = names_.find(wait.name);
  std::erase(named->second.ids, id);
  if (!named->second.ids.empty()) return;
  table_->unwatch(named->second.watch);
  names_.erase(named);
}

void Registry::answer_all(Self self, const std::string& name, Pid holder) {
  const auto named = names_.find(name);
  if (named == names_.end()) return;
  const std::vector<std::uint64_t> ids = named->second.ids;
  for (const std::uint64_t id : ids) answer(self, id, holder);
}

std::string Registry::describe() const {
  return fmt::format("{} entries, {} sets, {} watches, {} subscriptions, {} waits, {} events dropped",
                     table_->entry_count(), table_->set_count(), table_->watch_count(), table_->subscription_count(),
                     waits_.size(), table_->dropped_events());
}

RegistryResult<Pid> RegistryTable::await_agent(std::string_view id, Duration timeout) {
  if (auto checked = check_name(id); !checked) return std::unexpected(checked.error());
  if (auto found = find_agent(id)) return found;
  return waited(runtime_.call<Registry>(attached(), AwaitAgent{std::string(id), timeout}, k_forever));
}

Async<RegistryResult<Pid>> await_agent(Self self, RegistryTable& table, std::string id, Duration timeout) {
  if (auto found = table.find_agent(id)) co_return found;
  AwaitAgent request{std::move(id), timeout};
  auto calling = self.call<Registry>(table.attached(), std::move(request), k_forever);
  auto answer = co_await calling;
  co_return waited(std::move(answer));
}

}  // namespace skein::inline v0
