// The members of a group: voters, who decide, and learners, who only receive the log. A plain value.
//
// A membership entry of the log holds a whole membership, not the change that led to it, so that a log can be read
// without what came before. Memberships change by one voter at a time, so that any two quorums, one of the old and one
// of the new, share a member (Raft thesis, section 4.1).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::consensus {

// Random, made with a data folder and kept in it: a wiped folder is another member. 0 means none.
using MemberId = std::uint64_t;

inline constexpr std::size_t k_members_max = 1'000;  // voters and learners of one group
inline constexpr std::size_t k_voters_max = 7;

struct MemberChange {
  enum class Kind { add_voter, add_learner, remove };
  Kind kind = Kind::add_learner;
  MemberId member = 0;
};

class Membership {
 public:
  Membership() = default;
  Membership(std::vector<MemberId> voters, std::vector<MemberId> learners);

  [[nodiscard]] const std::vector<MemberId>& voters() const { return voters_; }      // ascending
  [[nodiscard]] const std::vector<MemberId>& learners() const { return learners_; }  // ascending
  // Voters and learners, ascending.
  [[nodiscard]] std::vector<MemberId> members() const;
  [[nodiscard]] std::size_t size() const { return voters_.size() + learners_.size(); }
  [[nodiscard]] bool is_voter(MemberId member) const;
  [[nodiscard]] bool is_learner(MemberId member) const;
  [[nodiscard]] bool contains(MemberId member) const { return is_voter(member) || is_learner(member); }
  [[nodiscard]] std::size_t quorum() const { return voters_.size() / 2 + 1; }

  // This membership after the changes, made one after the other; or why it can't be. Adding a present member and
  // removing an absent one change nothing. A voter that is added as a learner is demoted.
  [[nodiscard]] std::expected<Membership, std::string> changed(std::span<const MemberChange> changes) const;

  // The bytes of a membership entry, and back. Nothing when they are no membership.
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<Membership> decode(std::string_view bytes);

  friend bool operator==(const Membership&, const Membership&) = default;

 private:
  std::vector<MemberId> voters_;
  std::vector<MemberId> learners_;
};

}  // namespace skein::inline v0::consensus
