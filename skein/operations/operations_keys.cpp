// A submit whose idempotency key had a task already.
#include <fmt/format.h>

#include <utility>

#include "skein/operations/json_same.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

// Whoever sends no params asks for the first task, whatever it was given.
bool has_other_params(const ledger::Task& first, const ledger::Body& params) {
  if (!params || params->empty()) return false;
  return !is_same_json(ledger::view_of(first.params), *params);
}

Error key_reused(const ledger::Task& first) {
  return {Code::key_reused,
          fmt::format("the key '{}' belongs to task {}, which has other params", first.more().key, first.id.text()),
          "give other work another key, or ask for that task by its id", std::chrono::milliseconds(0)};
}

}  // namespace

// A key outlives the result of its task where that was lost, or removed by retention; who sends the key again must
// learn that.
void Operations::look_for_existing(const SubmitAnswer& found, const ledger::Body& params, Reply<SubmitAnswer> reply) {
  const bool has_params = params && !params->empty();
  if (!has_params && !ledger::is_finished(found.state)) return reply(found);
  // The submit itself was answered: a node that is too busy to be asked more does not change that.
  Reply<SubmitAnswer> either([found, reply = std::move(reply)](Result<SubmitAnswer> told) mutable {
    const bool is_busy = !told && told.error().code == Code::overloaded;
    reply(is_busy ? Result<SubmitAnswer>(found) : std::move(told));
  });
  on_ledger(std::move(either), [self = shared_from_this(), found, params](Reply<SubmitAnswer> answer) {
    if (const auto view = self->parts_.ledger.find(found.id)) {
      if (has_other_params(view->task, params)) return answer.fail(key_reused(view->task));
      return answer(found);
    }
    SubmitAnswer gone = found;
    gone.is_gone = true;
    if (self->parts_.archive == nullptr) return answer(gone);
    self->on_archive(std::move(answer), [found, gone, params](archive::Store& store, Reply<SubmitAnswer> last) {
      const auto there = store.find(found.id);
      if (there && *there && has_other_params((*there)->task, params)) return last.fail(key_reused((*there)->task));
      // One that is damaged is there; asking for it says so.
      last(there && !*there ? gone : found);
    });
  });
}

}  // namespace skein::inline v0::operations
