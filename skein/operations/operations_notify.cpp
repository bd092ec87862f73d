// Telling a process that the task it submitted has ended.
#include <chrono>
#include <utility>

#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr Duration k_notify_again = std::chrono::seconds(1);

bool is_passing(Code code) { return code == Code::overloaded || code == Code::archive_unavailable; }

}  // namespace

// The place is reserved before the task is accepted, so that an accepted submitter is always told.
void Operations::submit_and_notify(Pid pid, SubmitRequest request, Reply<SubmitAnswer> reply) {
  if (parts_.runtime == nullptr) {
    return counted(std::move(reply)).fail(invalid("no process can be notified here", "wait for the task instead"));
  }
  if (promised_.fetch_add(1) >= limits_.notices) {
    promised_.fetch_sub(1);
    return counted(std::move(reply)).fail(overloaded("too many processes wait to be notified"));
  }
  request.notify = Pid{};
  submit(std::move(request),
         [self = shared_from_this(), pid, reply = std::move(reply)](Result<SubmitAnswer>&& answer) mutable {
           if (answer) {
             self->notify_at_end(pid, answer->id);
           } else {
             self->promised_.fetch_sub(1);
           }
           reply(std::move(answer));
         });
}

// As with a wait: the ledger is asked and the notice registered in one callback, so no end can slip in between.
void Operations::notify_at_end(Pid pid, TaskId id) {
  Reply<WaitAnswer> told([self = shared_from_this(), pid, id](const Result<WaitAnswer>& answer) {
    if (!answer && is_passing(answer.error().code)) {
      // The place stays promised until it is known.
      if (self->parts_.timers.post_after(k_notify_again, [self, pid, id] { self->notify_at_end(pid, id); })) return;
    }
    self->promised_.fetch_sub(1);
    if (answer && answer->status.finished) self->notify(pid, *answer->status.finished);
  });
  on_ledger(std::move(told), [self = shared_from_this(), id](Reply<WaitAnswer> reply) {
    auto view = self->parts_.ledger.find(id);
    if (view && view->finished) return reply(WaitAnswer{{view->task, view->finished, false}, true});
    if (view) return self->notices_.add({id, Instant::max(), {}, std::move(reply)});
    self->find_archived(id, std::move(reply), [](const archive::Finished& finished, Reply<WaitAnswer> last) {
      last(WaitAnswer{{finished->task, finished, true}, true});
    });
  });
}

void Operations::notify(Pid pid, const ledger::FinishedTask& finished) {
  const auto& task = finished.task;
  if (task.state == State::completed) {
    parts_.runtime->notify(pid, TaskComplete{task.id, finished.result});
  } else {
    parts_.runtime->notify(pid, TaskFailed{task.id, task.state, finished.ending, finished.message});
  }
}

}  // namespace skein::inline v0::operations
