// What operations on swarms, agents, limits and the dispatch epoch do; and lookups.
#include <algorithm>
#include <charconv>

#include "skein/ledger/core.hpp"

namespace skein::inline v0::ledger {
namespace {

constexpr OpResult k_ok{};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_field(const Swarm& swarm, std::string_view name) {
  const auto text = swarm.field(name);
  return text ? number_in(*text) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> Swarm::field(std::string_view wanted) const {
  if (const auto at = overrides.find(wanted); at != overrides.end()) return at->second;
  if (const auto at = definition.find(wanted); at != definition.end()) return at->second;
  return std::nullopt;
}

Swarm shown(const SwarmSlot& slot) {
  Swarm swarm = *slot.info;
  swarm.open_tasks = slot.open_tasks;
  swarm.open_bytes = slot.open_bytes;
  return swarm;
}

bool numbers_are_good(const Swarm& swarm) {
  for (const Fields* fields : {&swarm.definition, &swarm.overrides}) {
    for (const auto name : {k_field_open_tasks, k_field_open_bytes}) {
      const auto at = fields->find(name);
      if (at != fields->end() && !number_in(at->second)) return false;
    }
  }
  return true;
}

bool usable(const Limits& l) {
  const auto all = {l.name_bytes, l.attempts, l.history, l.keys, l.fields, l.field_bytes, l.open_tasks, l.swarms};
  return std::all_of(all.begin(), all.end(), [](std::uint64_t each) { return each > 0; });
}

LedgerCore::LedgerCore() {
  Swarm swarm;
  swarm.name = k_default_swarm;
  swarm_index_.emplace(k_default_swarm, new_swarm(std::move(swarm)));
}

std::optional<OpResult> LedgerCore::check_name(std::string_view name) const {
  if (name.size() > head_.limits.name_bytes) return refuse(Verdict::too_large, head_.limits.name_bytes);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (name.empty() || std::any_of(name.begin(), name.end(), is_control)) return refuse(Verdict::malformed);
  return std::nullopt;
}

std::optional<OpResult> LedgerCore::check_fields(const Fields& fields) const {
  if (fields.size() > head_.limits.fields) return refuse(Verdict::too_large, head_.limits.fields);
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : fields) {
    if (auto bad = check_name(name)) return bad;
    bytes += name.size() + value.size();
  }
  if (bytes > head_.limits.field_bytes) return refuse(Verdict::too_large, head_.limits.field_bytes);
  return std::nullopt;
}

std::optional<std::uint32_t> LedgerCore::swarm_slot(std::string_view name) const {
  const auto at = swarm_index_.find(name);
  if (at == swarm_index_.end()) return std::nullopt;
  return at->second;
}

void LedgerCore::set_swarm(SwarmSlot& slot, Swarm swarm) {
  slot.tasks_max = number_field(swarm, k_field_open_tasks);
  slot.bytes_max = number_field(swarm, k_field_open_bytes);
  slot.info = std::make_shared<const Swarm>(std::move(swarm));
}

std::uint32_t LedgerCore::new_swarm(Swarm swarm) {
  if (free_swarms_.empty()) {
    free_swarms_.push_back(static_cast<std::uint32_t>(swarms_.size()));
    swarms_.emplace_back();
  }
  const auto slot = free_swarms_.back();
  free_swarms_.pop_back();
  swarms_[slot] = {};
  set_swarm(swarms_[slot], std::move(swarm));
  return slot;
}

void LedgerCore::change_swarm(std::uint32_t slot, Swarm next) {
  set_swarm(swarms_[slot], std::move(next));
  if (listening_) tell(SwarmChanged{shown(swarms_[slot])});
}

OpResult LedgerCore::on(const TakeDispatch& op) {
  if (auto bad = check_name(op.node)) return *bad;
  head_.epoch = position_;
  head_.dispatcher = op.node;
  head_.dispatch_at = op.at;
  if (listening_) tell(DispatchTaken{head_.epoch, head_.dispatcher, op.at});
  return {Verdict::ok, std::nullopt, head_.epoch, {}};
}

OpResult LedgerCore::on(const SwarmPut& op) {
  if (auto bad = check_name(op.name)) return *bad;
  if (auto bad = check_fields(op.definition)) return *bad;
  const auto slot = swarm_slot(op.name);
  if (!slot && swarm_index_.size() >= head_.limits.swarms) return refuse(Verdict::ledger_full, head_.limits.swarms);
  Swarm next;
  if (slot) next = *swarms_[*slot].info;
  next.name = op.name;
  next.origin = op.origin;
  next.definition = op.definition;
  if (next.state == SwarmState::removed) next.state = SwarmState::active;
  if (!numbers_are_good(next)) return refuse(Verdict::malformed);
  const auto at = slot ? *slot : swarm_index_.emplace(op.name, new_swarm(next)).first->second;
  change_swarm(at, std::move(next));
  return k_ok;
}

OpResult LedgerCore::on(const SwarmOverride& op) {
  const auto slot = swarm_slot(op.name);
  if (!slot) return refuse(Verdict::no_such_swarm);
  Swarm next = *swarms_[*slot].info;
  for (const auto& [name, value] : op.fields) {
    if (value.empty()) {
      next.overrides.erase(name);
    } else {
      next.overrides.insert_or_assign(name, value);
    }
  }
  if (auto bad = check_fields(next.overrides)) return *bad;
  if (!numbers_are_good(next)) return refuse(Verdict::malformed);
  change_swarm(*slot, std::move(next));
  return k_ok;
}

OpResult LedgerCore::on(const SwarmDropOverrides& op) {
  if (!op.name.empty() && !swarm_slot(op.name)) return refuse(Verdict::no_such_swarm);
  for (const auto& [name, slot] : swarm_index_) {
    if (!op.name.empty() && name != op.name) continue;
    Swarm next = *swarms_[slot].info;
    if (next.overrides.empty()) continue;
    next.overrides.clear();
    change_swarm(slot, std::move(next));
  }
  return k_ok;
}

OpResult LedgerCore::on(const SwarmSetState& op) {
  const auto slot = swarm_slot(op.name);
  if (!slot) return refuse(Verdict::no_such_swarm);
  Swarm next = *swarms_[*slot].info;
  const bool is_removal = op.state == SwarmState::removed;
  if (is_removal && head_.version < k_removed_version) return refuse(Verdict::old_version, head_.version);
  if (is_removal && op.name == k_default_swarm) return refuse(Verdict::swarm_busy);
  if (next.state == SwarmState::removed && !is_removal) return refuse(Verdict::swarm_closed);
  next.state = op.state;
  change_swarm(*slot, std::move(next));
  return k_ok;
}

OpResult LedgerCore::on(const SwarmSetBreaker& op) {
  const auto slot = swarm_slot(op.name);
  if (!slot) return refuse(Verdict::no_such_swarm);
  Swarm next = *swarms_[*slot].info;
  next.breaker = op.breaker;
  next.breaker_until = op.until;
  change_swarm(*slot, std::move(next));
  return k_ok;
}

OpResult LedgerCore::on(const SwarmRemove& op) {
  const auto slot = swarm_slot(op.name);
  if (!slot) return refuse(Verdict::no_such_swarm);
  if (op.name == k_default_swarm || swarms_[*slot].open_tasks > 0) return refuse(Verdict::swarm_busy);
  swarms_[*slot] = {};
  free_swarms_.push_back(*slot);
  swarm_index_.erase(op.name);
  if (listening_) tell(SwarmRemoved{op.name});
  return k_ok;
}

OpResult LedgerCore::on(const AgentPut& op) {
  if (auto bad = check_name(op.name)) return *bad;
  if (auto bad = check_fields(op.fields)) return *bad;
  const auto limit = head_.limits.agents;
  if (!agents_.contains(op.name) && agents_.size() >= limit) return refuse(Verdict::ledger_full, limit);
  agents_.insert_or_assign(op.name, std::make_shared<const AgentNote>(AgentNote{op.name, op.fields}));
  if (listening_) tell(AgentChanged{{op.name, op.fields}});
  return k_ok;
}

OpResult LedgerCore::on(const AgentRemove& op) {
  if (agents_.erase(op.name) == 0) return refuse(Verdict::no_such_agent);
  if (listening_) tell(AgentRemoved{op.name});
  return k_ok;
}

OpResult LedgerCore::on(const SetLimits& op) {
  if (!usable(op.limits)) return refuse(Verdict::malformed);
  head_.limits = op.limits;
  if (listening_) tell(LimitsChanged{op.limits});
  return k_ok;
}

OpResult LedgerCore::on(const LedgerVersion& op) {
  // A later one than this program knows was found before the first operation: see CommandFrames.
  if (op.version < head_.version) return refuse(Verdict::old_version, head_.version);
  const bool raised = op.version > head_.version;
  head_.version = op.version;
  if (raised && listening_) tell(VersionChanged{op.version});
  return {Verdict::ok, std::nullopt, head_.version, {}};
}

std::shared_ptr<const Shape> LedgerCore::shape_of(const std::string& swarm, const std::string& type,
                                                  const std::vector<std::string>& capabilities) {
  scratch_.assign(swarm).push_back('\0');
  scratch_.append(type);
  for (const auto& each : capabilities) {
    scratch_.push_back('\0');
    scratch_.append(each);
  }
  if (const auto at = shapes_.find(scratch_); at != shapes_.end()) return at->second;
  if (shapes_.size() >= k_interned_max) shapes_.clear();
  auto shape = std::make_shared<const Shape>(Shape{swarm, type, capabilities});
  shapes_.emplace(scratch_, shape);
  return shape;
}

Body LedgerCore::interned(const std::string& name) {
  if (const auto at = names_.find(name); at != names_.end()) return at->second;
  if (names_.size() >= k_interned_max) names_.clear();
  return names_.emplace(name, std::make_shared<const std::string>(name)).first->second;
}

FrozenCore LedgerCore::freeze() {
  FrozenCore state = view();
  state.tasks = tasks_.freeze();
  state.finished = finished_.freeze();
  state.keys = keys_.freeze();
  return state;
}

FrozenCore LedgerCore::view() const {
  FrozenCore state;
  state.head = head_;
  state.counters = counters();
  state.tasks = tasks_.chunks();
  state.finished = finished_.view();
  state.keys = keys_.view();
  state.swarms.reserve(swarm_index_.size());
  for (const auto& [name, slot] : swarm_index_) state.swarms.push_back(swarms_[slot]);
  state.agents.reserve(agents_.size());
  for (const auto& [name, agent] : agents_) state.agents.push_back(agent);
  state.tokens.reserve(tokens_.size());
  for (const auto& [name, token] : tokens_) state.tokens.push_back(token);
  return state;
}

const Task* LedgerCore::peek(TaskId id) const {
  const auto at = index_.find(id);
  if (at == index_.end()) return nullptr;
  if ((at->second & k_finished) == 0) return &tasks_[static_cast<Slot>(at->second)];
  return &finished_[at->second & ~k_finished]->task;
}

std::optional<TaskView> LedgerCore::find(TaskId id) const {
  const auto at = index_.find(id);
  if (at == index_.end()) return std::nullopt;
  if ((at->second & k_finished) == 0) return TaskView{tasks_[static_cast<Slot>(at->second)], nullptr};
  const auto& finished = finished_[at->second & ~k_finished];
  return TaskView{finished->task, finished};
}

std::optional<Swarm> LedgerCore::find_swarm(std::string_view name) const {
  const auto slot = swarm_slot(name);
  if (!slot) return std::nullopt;
  return shown(swarms_[*slot]);
}

std::vector<Finished> LedgerCore::finished_after(FinishNumber after, std::size_t at_most) const {
  std::vector<Finished> out;
  const FinishNumber from = std::max(finished_.first(), after < finished_.end() ? after + 1 : finished_.end());
  for (FinishNumber n = from; n < finished_.end() && out.size() < at_most; ++n) out.push_back(finished_[n]);
  return out;
}

std::vector<Swarm> LedgerCore::swarms() const {
  std::vector<Swarm> out;
  out.reserve(swarm_index_.size());
  for (const auto& [name, slot] : swarm_index_) out.push_back(shown(swarms_[slot]));
  return out;
}

std::vector<AgentNote> LedgerCore::agents() const {
  std::vector<AgentNote> out;
  out.reserve(agents_.size());
  for (const auto& [name, agent] : agents_) out.push_back(*agent);
  return out;
}

Counters LedgerCore::counters() const {
  Counters c;
  c.open_tasks = open_tasks_;
  c.open_bytes = open_bytes_;
  c.finished_tasks = finished_.size();
  c.finished_bytes = finished_bytes_;
  c.keys = keys_.size();
  c.swarms = swarm_index_.size();
  c.agents = agents_.size();
  c.tokens = tokens_.size();
  c.last_number = head_.last_number;
  c.last_finished = finished_.end() - 1;
  c.archived_up_to = finished_.first() - 1;
  c.last_fence = head_.last_fence;
  return c;
}

}  // namespace skein::inline v0::ledger
