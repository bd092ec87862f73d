// Whether a node's journal and its archive agree, as they must. Checked before a node takes
// its first task, and by the verbs that repair.
//
// The journal's ledger knows up to which finish number it dropped tasks because the archive had them, and which number
// it gave last. The archive knows which it has, removed or wrote off, where the journal was when it was last sealed,
// and whose it is. A pure function and plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/archive/store.hpp"
#include "skein/journal/entry.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::archive {

struct LedgerSide {
  ledger::FinishNumber archived_up_to = 0;
  ledger::FinishNumber last_finished = 0;
  journal::Position position = 0;
  std::string folder;  // id of the data folder, as the journal knows it; empty: not said
};

struct ArchiveSide {
  bool is_there = true;  // false: there was no file
  bool was_kept = true;  // false: the node kept no archive until now, so there need be none
  Marks marks;
  std::uint64_t counted = 0;  // rows that are there, counted; marks.rows where that would take too long
  journal::Position position = 0;
  std::string folder;
  std::vector<std::pair<ledger::FinishNumber, std::string>> damaged{};  // records, where they were looked at
};

// The kind of disagreement, and how much is affected.
struct Discord {
  enum class Kind {
    archive_missing,
    archive_foreign,  // it belongs to another data folder, or the journal does
    archive_behind,   // it lacks the last results that the ledger dropped
    archive_holes,    // it lacks some in between
    journal_behind,   // the archive has results that the journal does not know, or saw a later position
  };
  Kind kind = Kind::archive_missing;
  ledger::FinishNumber from = 0;  // finish numbers it is about
  ledger::FinishNumber to = 0;
  std::uint64_t count = 0;         // results that are missing; of journal_behind: that the journal does not know
  ledger::WallMs newest = 0;       // when the last result that is there finished; 0: there is none
  journal::Position position = 0;  // of journal_behind: that the archive saw
  journal::Position last_position = 0;

  // What happened, to which file, what is lost; what to do is advice(). `data`: the data folder.
  [[nodiscard]] std::string describe(const std::string& data) const;
  [[nodiscard]] std::string advice(const std::string& data) const;
  // The record of its acceptance.
  [[nodiscard]] Loss loss(ledger::WallMs at) const;
};

// Nothing when they agree.
[[nodiscard]] std::optional<Discord> compare(const LedgerSide& ledger, const ArchiveSide& archive);

// Makes a ledger go on above the numbers of an archive that has everything the ledger has.
[[nodiscard]] std::vector<ledger::Op> numbers_above(ledger::FinishNumber last);

}  // namespace skein::inline v0::archive
