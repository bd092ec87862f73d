#include "skein/dispatch/progress_marks.hpp"

#include <optional>
#include <utility>

namespace skein::inline v0::dispatch {

void ProgressMarks::told(SlotNumber index, ledger::Body mark, const Moment& moment) {
  Run& run = tables_.runs[index];
  if (run.has_mark_under_way) {
    run.next_mark = std::move(mark);
  } else {
    append(index, std::move(mark), moment);
  }
}

void ProgressMarks::applied(ledger::TaskNumber number, const Moment& moment) {
  const SlotNumber slot = tables_.by_number.find(number);
  if (slot == k_no_slot || tables_.tasks[slot].run == k_no_slot) return;
  const SlotNumber index = tables_.tasks[slot].run;
  Run& run = tables_.runs[index];
  // Of an earlier run of the task, if this one has told none.
  if (!std::exchange(run.has_mark_under_way, false) || run.is_reported()) return;
  append_last(index, moment);
}

void ProgressMarks::append_last(SlotNumber index, const Moment& moment) {
  Run& run = tables_.runs[index];
  if (run.next_mark) append(index, *std::exchange(run.next_mark, std::nullopt), moment);
}

void ProgressMarks::append(SlotNumber index, ledger::Body mark, const Moment& moment) {
  Run& run = tables_.runs[index];
  TaskRecord& task = tables_.tasks[run.task];
  run.has_mark_under_way = true;
  run.next_mark.reset();
  outgoing_.add_for(task, run.task, OpKind::progress,
                    ledger::Progress{task.id, run.ref.fence, moment.wall, std::move(mark)}, false);
}

}  // namespace skein::inline v0::dispatch
