// The ways from a request to where it can be answered, shared by the operations' source files. See operations.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "skein/operations/operations.hpp"

namespace skein::inline v0::operations {

// What an error is about.
[[nodiscard]] inline std::string swarm_text(const std::string& name) { return "swarm '" + name + "'"; }

[[nodiscard]] inline TaskStatus archived_status(const archive::Finished& finished) {
  return {finished->task, finished, true, {}};
}

template <class T>
Reply<T> Operations::counted(Reply<T> reply) {
  return Reply<T>([self = shared_from_this(), reply = std::move(reply)](Result<T>&& result) mutable {
    if (!result) self->errors_[static_cast<std::size_t>(result.error().code)].fetch_add(1, std::memory_order_relaxed);
    reply(std::move(result));
  });
}

template <class T, class Fn>
void Operations::on_ledger(Reply<T> reply, Fn fn) {
  parts_.journal.read(journal::Read::linear(),
                      [reply = std::move(reply), fn = std::move(fn)](const journal::ReadAnswer& answer) mutable {
                        if (answer.outcome != journal::Outcome::applied)
                          return reply.fail(error_of(answer.outcome, answer.why));
                        fn(std::move(reply));
                      });
}

template <class T, class Fn>
void Operations::on_archive(Reply<T> reply, Fn fn) {
  if (parts_.archive == nullptr) {
    return reply.fail({Code::archive_unavailable, "this node keeps no archive", "ask for open tasks only",
                       std::chrono::milliseconds(0)});
  }
  reply.when_dropped(Code::overloaded);
  auto& store = *parts_.archive;
  parts_.reads.post([&store, reply = std::move(reply), fn = std::move(fn)]() mutable {
    reply.when_dropped(Code::stopped);
    fn(store, std::move(reply));
  });
}

template <class T, class Fn>
void Operations::find_archived(TaskId id, Reply<T> reply, Fn fn) {
  if (parts_.archive == nullptr) return reply.fail(task_not_found(id));
  on_archive(std::move(reply), [id, fn = std::move(fn)](archive::Store& store, Reply<T> answer) mutable {
    auto found = store.find(id);
    if (!found) return answer.fail(error_of(found.error()));
    if (!*found) return answer.fail(task_not_found(id));
    fn(std::move(*found), std::move(answer));
  });
}

}  // namespace skein::inline v0::operations
