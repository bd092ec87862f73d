// A data folder as a whole: whether its journal and its archive are there and belong together. Asked before a node
// takes its first task, and by the verbs that repair.
//
// A folder has an id, made at random at its first start. It is kept in three places: the file `folder` beside the
// journal, the same in the journal's folder, and a note in the archive. So a part that was put there from another
// folder is recognised, and a part that is missing from a folder that was used is never silently recreated. A folder
// of an earlier version gets its id at its first start, when journal and archive agree. A record that is damaged or
// missing is written again when everything else agrees.
//
// One thread; all of it may block on the disk. Errors are complete, for people.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/archive/agreement.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::node {

struct FolderRecord {
  std::string id;             // 32 hex digits
  bool keeps_archive = true;  // false: the node ran without one

  friend bool operator==(const FolderRecord&, const FolderRecord&) = default;
};

inline constexpr const char* k_folder_file = "folder";  // in the data folder and in the journal's
// Rows of an archive that are counted at a start; of more, its own count is taken and verification counts them.
inline constexpr std::uint64_t k_counted_at_start = 100'000;
// Rows up to which all of an archive is verified at a start; of more, the archiver verifies it bit by bit.
inline constexpr std::uint64_t k_verified_at_start = 2'000;

// Of a data folder or of a journal's. Nothing when there is none, or it is damaged.
[[nodiscard]] std::optional<FolderRecord> read_folder_record(const std::string& folder);
// Whole or not at all, 0600.
[[nodiscard]] std::expected<void, std::string> write_folder_record(const std::string& folder,
                                                                   const FolderRecord& record);
[[nodiscard]] FolderRecord new_folder_record();

// What is missing of a folder that was used before, and what to do; nothing when all is there, or the folder is new.
// Looks at names only, before anything is opened or made.
[[nodiscard]] std::optional<std::string> missing_part(const std::string& data);

struct OpenedArchive {
  std::unique_ptr<archive::SqliteStore> store;
  std::vector<std::string> warnings;  // what was found and mended, or accepted
};

// How the parts of a folder are opened together.
struct FolderStart {
  std::string data;
  bool keeps_archive = true;  // as the config wants it; false: there is no store, and the folder remembers that
  bool accept_loss = false;   // record what is lost, and go on
  ledger::WallMs now = 0;
};

// Opens the archive that goes with an open journal, or makes it where there was none; compares the two, refuses what
// does not belong together, and gives all parts the folder's id. The journal's machine is the ledger.
[[nodiscard]] std::expected<OpenedArchive, std::string> open_archive(const FolderStart& start,
                                                                     journal::Journal& journal, ledger::Ledger& ledger);

// After the journal went back, as a repair makes it: keeps what the archive has, takes into it what the ledger still
// has, and has the ledger go on above its numbers.
[[nodiscard]] std::expected<void, std::string> bring_journal_in_step(journal::Journal& journal, ledger::Ledger& ledger,
                                                                     archive::Store& store);

}  // namespace skein::inline v0::node
