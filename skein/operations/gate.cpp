#include "skein/operations/gate.hpp"

#include <algorithm>
#include <utility>

#include "skein/ledger/codec.hpp"

namespace skein::inline v0::operations {
namespace {

using journal::Outcome;

// The version of a command and the count of its operations, at most.
constexpr std::size_t k_head_bytes = 6;
constexpr std::size_t k_kept_bytes = 4096;  // of a thread's buffer for one operation

std::string command_of(std::size_t count, std::uint8_t version, std::string_view ops) {
  std::string command;
  command.reserve(k_head_bytes + ops.size());
  ledger::begin_command(command, count, version);
  return command.append(ops);
}

}  // namespace

std::optional<ledger::Op> operation_in(std::string_view sent) {
  if (sent.empty()) return std::nullopt;
  ledger::Reader reader(sent);
  const auto opcode = static_cast<ledger::Opcode>(reader.byte());
  const auto body = reader.view();
  return reader.done() ? ledger::decode_op({opcode, body}) : std::nullopt;
}

Gate::Gate(journal::Journal& journal, JobQueue& timers, journal::Urgency urgency, std::uint64_t space,
           const GateLimits& limits)
    : journal_(journal),
      timers_(timers),
      urgency_(urgency),
      space_(space),
      limits_(limits),
      again_{.first = limits.again_first,
             .max = limits.again_max,
             .time = limits.unknown_after,
             .when_turned_away = false} {}

void Gate::append(const ledger::Op& op, Done done) {
  // Kept for its memory, unless one was very long.
  static thread_local std::string encoded;
  encoded.clear();
  ledger::append_op(encoded, op);
  FlightPtr flight;
  const Admission admission = admit(encoded, ledger::version_of(op), done, flight);
  if (encoded.capacity() > k_kept_bytes) encoded = {};
  switch (admission) {
    case Admission::taken:
      break;
    case Admission::full:
      return done(std::unexpected(overloaded("too many requests wait to be written")), {});
    case Admission::stopped:
      return done(std::unexpected(error_of(Outcome::stopped, "it takes no more")), {});
  }
  if (flight) send(flight);
}

Gate::Admission Gate::admit(std::string_view op, std::uint8_t version, Done& done, FlightPtr& flight) {
  const std::size_t bytes = op.size();
  const std::lock_guard lock(mutex_);
  if (stopped_) return Admission::stopped;
  if (queued_ops_ >= limits_.queued_ops || queued_bytes_ + bytes > limits_.queued_bytes) {
    ++refused_;
    return Admission::full;
  }
  if (filling_->items.size() >= limits_.command_ops ||
      (!filling_->items.empty() && filling_->ops.size() + bytes > limits_.command_bytes)) {
    full_.push_back(std::exchange(filling_, std::make_shared<Flight>()));
  }
  filling_->items.push_back({std::move(done), static_cast<std::uint32_t>(bytes), version});
  filling_->ops.append(op);
  ++queued_ops_;
  queued_bytes_ += bytes;
  flight = take_next();
  return Admission::taken;
}

Gate::FlightPtr Gate::take_next() {
  if (stopped_ || queued_ops_ == 0) return nullptr;
  const bool may_go = in_flight_ == 0 || (queued_ops_ >= limits_.gather_ops && in_flight_ < limits_.commands_in_flight);
  if (!may_go) return nullptr;
  FlightPtr flight;
  if (full_.empty()) {
    flight = std::exchange(filling_, std::make_shared<Flight>());
  } else {
    flight = std::move(full_.front());
    full_.pop_front();
  }
  queued_ops_ -= flight->items.size();
  queued_bytes_ -= flight->ops.size();
  ops_ += flight->items.size();
  ++commands_;
  ++in_flight_;
  flight->id = {space_, next_command_++};
  return flight;
}

void Gate::send(const FlightPtr& flight) {
  journal::Batch batch;
  std::uint8_t version = ledger::k_first_command_version;
  for (const Item& each : flight->items) version = std::max(version, each.version);
  batch.push_back({flight->id, command_of(flight->items.size(), version, flight->ops)});
  const auto answer = [self = shared_from_this(), flight](const journal::AppendAnswer& answered) {
    self->answered(flight, answered);
  };
  journal_.append(std::move(batch), answer, urgency_);
}

void Gate::answered(const FlightPtr& flight, const journal::AppendAnswer& answer) {
  if (answer.outcome != Outcome::applied) return not_applied(flight, answer);
  const auto& applied = answer.results.at(0);
  if (applied.repeated && !applied.result_kept) {
    // It was applied, and what the ledger said is forgotten. To ask as if it were new could do it a second time: a task
    // may have ended and gone to the archive since, so that the ledger knows its id no more.
    fail_all(*flight,
             error_of(Outcome::unknown, "it was done or refused; what the ledger said was too long to be kept"));
    return landed();
  }
  deliver(*flight, applied);
  landed();
}

// What came together is too large for this journal; that says nothing of its parts.
void Gate::send_in_halves(Flight& flight) {
  const auto middle = flight.items.begin() + static_cast<std::ptrdiff_t>(flight.items.size() / 2);
  std::string_view rest = flight.ops;
  const auto take = [&](auto from, auto to) {
    auto half = std::make_shared<Flight>();
    std::size_t bytes = 0;
    for (auto at = from; at != to; ++at) bytes += at->bytes;
    half->items.assign(std::make_move_iterator(from), std::make_move_iterator(to));
    half->ops = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    half->id = {space_, next_command_++};
    return half;
  };
  FlightPtr first;
  FlightPtr second;
  {
    const std::lock_guard lock(mutex_);
    first = take(flight.items.begin(), middle);
    second = take(middle, flight.items.end());
    ++in_flight_;
    ++commands_;
  }
  send(first);
  send(second);
}

void Gate::deliver(Flight& flight, const journal::Applied& applied) {
  const auto results = ledger::decode_results(applied.result);
  if (applied.skipped || !results || results->size() != flight.items.size()) {
    return fail_all(flight, {Code::internal, "the entry was skipped, or its answer cannot be read",
                             "see the journal: 'skein log dump'", std::chrono::milliseconds(0)});
  }
  std::string_view rest = flight.ops;
  for (std::size_t i = 0; i < flight.items.size(); ++i) {
    Item& item = flight.items[i];
    item.done((*results)[i], rest.substr(0, item.bytes));
    rest.remove_prefix(item.bytes);
  }
}

void Gate::fail_all(Flight& flight, const Error& error) {
  const Result<ledger::OpResult> failed = std::unexpected(error);
  for (auto& item : flight.items) item.done(failed, {});
}

void Gate::not_applied(const FlightPtr& flight, const journal::AppendAnswer& answer) {
  const auto next = flight->again.answered(answer.outcome, timers_.now(), again_);
  if (next.kind == journal::AppendAgain::Next::Kind::again) {
    repeated_.fetch_add(1, std::memory_order_relaxed);
    if (timers_.post_after(next.wait, [self = shared_from_this(), flight] { self->send(flight); })) return;
  } else if (next.outcome == Outcome::refused && flight->items.size() > 1) {
    return send_in_halves(*flight);
  }
  fail_all(*flight, error_of(next.outcome, answer.why, answer.leader));
  landed();
}

void Gate::landed() {
  FlightPtr next;
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    next = take_next();
  }
  if (next) send(next);
}

void Gate::stop() {
  std::deque<FlightPtr> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(full_);
    dropped.push_back(std::exchange(filling_, std::make_shared<Flight>()));
    queued_ops_ = queued_bytes_ = 0;
  }
  for (const auto& flight : dropped) fail_all(*flight, error_of(Outcome::stopped, "it takes no more"));
}

GateStatus Gate::status() const {
  const std::lock_guard lock(mutex_);
  return {ops_, commands_, refused_, repeated_.load(std::memory_order_relaxed), queued_ops_, queued_bytes_};
}

}  // namespace skein::inline v0::operations
