// Transcripts of pure functions: changes of a membership (membership.hpp) and majorities (quorum.hpp).
//
//   simple       changes, one after the other: vN adds a voter, lN a learner, rN removes, uN is ours to ignore
//   committed    cfg=(IDS) idx=(POSITIONS), _ for one that is not known
//   vote         cfg=(IDS) votes=(y, n or _)
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "sim/transcript_script.hpp"
#include "skein/consensus/membership.hpp"
#include "skein/consensus/progress.hpp"

namespace skein::sim {

class TranscriptTables {
 public:
  [[nodiscard]] static bool knows(std::string_view command);
  [[nodiscard]] std::expected<std::vector<std::string>, std::string> run(const TranscriptCommand& command);

 private:
  [[nodiscard]] std::vector<std::string> change(const TranscriptCommand& command);

  consensus::Membership membership_;
  std::map<consensus::MemberId, consensus::MemberProgress> progress_;
  consensus::Position last_ = 0;  // of the log, if every command added an entry
};

}  // namespace skein::sim
