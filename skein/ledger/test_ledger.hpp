// A ledger with a sink and short words for tests. After each command it checks the invariants and that a refusal
// changed nothing. One thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skein/ledger/invariants.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::ledger {

inline TaskId task_id(std::uint64_t n) { return {0x0190'0000'0000'7000ULL, n}; }

inline Submit submit(std::uint64_t n) {
  Submit op;
  op.id = task_id(n);
  op.at = 1000;
  op.spec.type = "work";
  op.spec.params = body_of("{}");
  return op;
}

inline Submit submit_after(std::uint64_t n, std::initializer_list<std::uint64_t> dependencies) {
  auto op = submit(n);
  for (const auto each : dependencies) op.spec.extras.dependencies.push_back(task_id(each));
  return op;
}

inline std::string snapshot_of(Ledger& ledger) {
  journal::StringSink sink;
  ledger.freeze()->write(sink);
  return sink.text;
}

class TestLedger : public ChangeSink {
 public:
  TestLedger() { ledger.add_sink(*this); }

  std::vector<OpResult> run(const std::vector<Op>& ops) {
    const auto before = ledger.digest();
    changes.clear();
    const auto answer = decode_results(ledger.apply(++position, encode_command(ops)));
    EXPECT_TRUE(answer);
    EXPECT_EQ(answer->size(), ops.size());
    EXPECT_EQ(broken_invariant(*ledger.freeze()), std::nullopt);
    bool all_refused = true;
    for (const auto& each : *answer) all_refused = all_refused && each.refused();
    if (all_refused) {
      EXPECT_EQ(ledger.digest(), before) << "a refusal changed something";
      EXPECT_TRUE(changes.empty()) << "a refusal was told as a change";
    }
    return *answer;
  }
  OpResult run(Op op) { return run(std::vector<Op>{std::move(op)})[0]; }
  Verdict verdict(Op op) { return run(std::move(op)).verdict; }

  Epoch dispatch() { return epoch = run(TakeDispatch{"node-1", 1}).number; }
  Fence assign(std::uint64_t n, std::string agent = "a") {
    const auto answer = run(Assign{epoch, task_id(n), std::move(agent), 2000});
    EXPECT_EQ(answer.verdict, Verdict::ok) << name_of(answer.verdict);
    return answer.number;
  }
  Fence submitted_and_assigned(std::uint64_t n) {
    EXPECT_EQ(verdict(submit(n)), Verdict::ok);
    if (epoch == 0) dispatch();
    return assign(n);
  }
  [[nodiscard]] Task task(std::uint64_t n) const {
    const auto found = ledger.find(task_id(n));
    EXPECT_TRUE(found) << "task " << n << " is unknown";
    return found ? found->task : Task{};
  }
  [[nodiscard]] State state(std::uint64_t n) const { return task(n).state; }
  [[nodiscard]] std::shared_ptr<const FinishedTask> finished(std::uint64_t n) const {
    const auto found = ledger.find(task_id(n));
    EXPECT_TRUE(found && found->finished) << "task " << n << " is not finished";
    return found->finished;
  }
  template <class C>
  [[nodiscard]] std::vector<C> told() const {
    std::vector<C> out;
    for (const auto& each : changes) {
      if (const auto* change = std::get_if<C>(&each)) out.push_back(*change);
    }
    return out;
  }

  void take(const std::shared_ptr<const ChangeBatch>& batch) override {
    EXPECT_EQ(batch->position, position);
    changes.insert(changes.end(), batch->changes.begin(), batch->changes.end());
  }

  Ledger ledger;
  journal::Position position = 0;
  Epoch epoch = 0;
  std::vector<Change> changes;  // of the last command
};

}  // namespace skein::inline v0::ledger
