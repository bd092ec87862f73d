// Progress marks on their way to the ledger. One mark of a run is under way at a time and the last one told goes next:
// an agent that says many costs no more than one that says few. Reads and changes the core's tables and what it
// appends, which outlive it. One thread at a time.
#pragma once

#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/moment.hpp"
#include "skein/dispatch/outgoing.hpp"

namespace skein::inline v0::dispatch {

class ProgressMarks {
 public:
  ProgressMarks(DispatcherTables& tables, Outgoing& outgoing) : tables_(tables), outgoing_(outgoing) {}

  void told(SlotNumber run, ledger::Body mark, const Moment& moment);
  // The append with a mark of this task was applied.
  void applied(ledger::TaskNumber task, const Moment& moment);
  // The attempt ends: the next one begins with the last mark, which waits for no other.
  void append_last(SlotNumber run, const Moment& moment);

 private:
  void append(SlotNumber run, ledger::Body mark, const Moment& moment);

  DispatcherTables& tables_;
  Outgoing& outgoing_;
};

}  // namespace skein::inline v0::dispatch
