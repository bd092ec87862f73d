#include "skein/ledger/ledger.hpp"

#include <algorithm>

#include "skein/ledger/core.hpp"

namespace skein::inline v0::ledger {
namespace {

class Frozen final : public FrozenLedger {
 public:
  explicit Frozen(FrozenCore state) : state_(std::move(state)) {}

  void write(journal::SnapshotSink& sink) const override { write_snapshot(state_, sink); }
  std::vector<Task> open_tasks() const override {
    std::vector<Task> out;
    const auto sorted = state_.sorted_tasks();
    out.reserve(sorted.size());
    for (const Task* task : sorted) out.push_back(*task);
    return out;
  }
  std::vector<Finished> finished_tasks() const override {
    std::vector<Finished> out;
    const auto& all = state_.finished;
    out.reserve(static_cast<std::size_t>(all.size()));
    for (FinishNumber n = all.first; n < all.end; ++n) out.push_back(all[n]);
    return out;
  }
  std::vector<Swarm> swarms() const override {
    std::vector<Swarm> out;
    out.reserve(state_.swarms.size());
    for (const auto& slot : state_.swarms) out.push_back(shown(slot));
    return out;
  }
  std::vector<AgentNote> agents() const override {
    std::vector<AgentNote> out;
    out.reserve(state_.agents.size());
    for (const auto& agent : state_.agents) out.push_back(*agent);
    return out;
  }
  const Counters& counters() const override { return state_.counters; }
  const Limits& limits() const override { return state_.head.limits; }
  Epoch epoch() const override { return state_.head.epoch; }
  const std::string& dispatcher() const override { return state_.head.dispatcher; }
  std::uint64_t version() const override { return state_.head.version; }

 private:
  FrozenCore state_;
};

}  // namespace

Ledger::Ledger() : core_(std::make_unique<LedgerCore>()) {}
Ledger::~Ledger() = default;

std::string Ledger::apply(journal::Position position, std::string_view bytes) {
  CommandFrames frames(bytes);
  std::string answer;
  if (!frames.ok()) {
    begin_results(answer, 1);
    append_result(answer, {Verdict::malformed, std::nullopt, 0, {}});
    return answer;
  }
  core_->listen(!sinks_.empty(), frames.count());
  begin_results(answer, frames.count());
  for (std::size_t i = 0; i < frames.count(); ++i) {
    auto op = decode_op(frames.next());
    append_result(answer, op ? core_->apply(position, *op) : OpResult{Verdict::malformed, std::nullopt, 0, {}});
  }
  if (auto changes = core_->take_changes(); !changes.empty()) {
    const auto batch = std::make_shared<const ChangeBatch>(ChangeBatch{position, std::move(changes)});
    for (ChangeSink* sink : sinks_) sink->take(batch);
  }
  return answer;
}

std::shared_ptr<const FrozenLedger> Ledger::freeze() { return std::make_shared<const Frozen>(core_->freeze()); }

bool Ledger::restore(std::string_view bytes) {
  auto fresh = std::make_unique<LedgerCore>();
  if (!fresh->restore(bytes)) return false;
  core_ = std::move(fresh);
  return true;
}

Digest Ledger::digest() const {
  journal::HashSink sink;
  write_snapshot(core_->view(), sink);
  return sink.hash.digest();
}

void Ledger::add_sink(ChangeSink& sink) { sinks_.push_back(&sink); }
void Ledger::remove_sink(ChangeSink& sink) { std::erase(sinks_, &sink); }

std::optional<TaskView> Ledger::find(TaskId id) const { return core_->find(id); }
const Task* Ledger::peek(TaskId id) const { return core_->peek(id); }
std::optional<std::pair<TaskId, State>> Ledger::find_key(std::string_view swarm, std::string_view key) const {
  return core_->find_key(swarm, key);
}
std::optional<Swarm> Ledger::find_swarm(std::string_view name) const { return core_->find_swarm(name); }
std::vector<Finished> Ledger::finished_after(FinishNumber after, std::size_t at_most) const {
  return core_->finished_after(after, at_most);
}
std::vector<Swarm> Ledger::swarms() const { return core_->swarms(); }
std::vector<AgentNote> Ledger::agents() const { return core_->agents(); }
std::vector<Token> Ledger::tokens() const { return core_->tokens(); }
Counters Ledger::counters() const { return core_->counters(); }
const Limits& Ledger::limits() const { return core_->head().limits; }
Epoch Ledger::epoch() const { return core_->head().epoch; }
std::uint64_t Ledger::version() const { return core_->head().version; }

static_assert(journal::Machine<Ledger>);

}  // namespace skein::inline v0::ledger
