// A submit whose idempotency key had a task already.
#include <fmt/format.h>

#include <utility>

#include "skein/operations/json_same.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

// What a submit asks to be done.
struct Asked {
  std::string type;
  ledger::Body params;
};

Error key_reused(const ledger::Task& first, const std::string& what) {
  return {Code::key_reused,
          fmt::format("the key '{}' belongs to task {}, which has {}", first.more().key, first.id.text(), what),
          "give other work another key, or ask for that task by its id", std::chrono::milliseconds(0)};
}

// Nothing when it is the work of the first task. A request without params means that task, whatever params it has.
std::optional<Error> other_work(const ledger::Task& first, const Asked& asked) {
  if (first.shape && first.shape->type != asked.type) {
    return key_reused(first, fmt::format("the type '{}', not '{}'", first.shape->type, asked.type));
  }
  const bool has_params = asked.params && !asked.params->empty();
  if (!has_params || is_same_json(ledger::view_of(first.params), *asked.params)) return std::nullopt;
  return key_reused(first, "other params");
}

}  // namespace

// A key outlives the result of its task where that was lost, or removed by retention; who sends the key again must
// learn that.
void Operations::look_for_existing(const SubmitAnswer& found, const ledger::TaskSpec& spec, Reply<SubmitAnswer> reply) {
  // The submit itself was answered: a node that is too busy to be asked more does not change that.
  Reply<SubmitAnswer> either([found, reply = std::move(reply)](Result<SubmitAnswer>&& told) mutable {
    const bool is_busy = !told && told.error().code == Code::overloaded;
    if (is_busy) return reply(found);
    reply(std::move(told));
  });
  on_ledger(std::move(either), [self = shared_from_this(), found,
                                asked = Asked{spec.type, spec.params}](Reply<SubmitAnswer> answer) {
    if (const auto view = self->parts_.ledger.find(found.id)) {
      if (auto other = other_work(view->task, asked)) return answer.fail(std::move(*other));
      return answer(found);
    }
    SubmitAnswer gone = found;
    gone.is_gone = true;
    if (self->parts_.archive == nullptr) return answer(gone);
    self->on_archive(std::move(answer), [found, gone, asked](archive::Store& store, Reply<SubmitAnswer> last) {
      const auto there = store.find(found.id);
      auto other = there && *there ? other_work((*there)->task, asked) : std::nullopt;
      if (other) return last.fail(std::move(*other));
      // One that is damaged is there; asking for it says so.
      last(there && !*there ? gone : found);
    });
  });
}

}  // namespace skein::inline v0::operations
