#include "skein/consensus/membership.hpp"

#include <algorithm>
#include <iterator>

#include "skein/base/bytes.hpp"

namespace skein::inline v0::consensus {
namespace {

constexpr std::uint32_t k_membership_version = 1;

bool has(const std::vector<MemberId>& sorted, MemberId member) { return std::ranges::binary_search(sorted, member); }

void insert(std::vector<MemberId>& sorted, MemberId member) {
  const auto at = std::ranges::lower_bound(sorted, member);
  if (at == sorted.end() || *at != member) sorted.insert(at, member);
}

std::size_t count_different(const std::vector<MemberId>& one, const std::vector<MemberId>& other) {
  std::vector<MemberId> different;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(different));
  return different.size();
}

bool is_strictly_ascending(const std::vector<MemberId>& ids) {
  return std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end() && (ids.empty() || ids.front() > 0);
}

void write_ids(ByteWriter& out, const std::vector<MemberId>& ids) {
  out.u32(static_cast<std::uint32_t>(ids.size()));
  for (const MemberId id : ids) out.u64(id);
}

std::vector<MemberId> read_ids(ByteReader& in) {
  const std::uint32_t count = in.u32();
  if (count > k_members_max) in.fail();
  std::vector<MemberId> ids;
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) ids.push_back(in.u64());
  if (!is_strictly_ascending(ids)) in.fail();
  return ids;
}

}  // namespace

Membership::Membership(std::vector<MemberId> voters, std::vector<MemberId> learners)
    : voters_(std::move(voters)), learners_(std::move(learners)) {
  std::ranges::sort(voters_);
  std::ranges::sort(learners_);
}

std::vector<MemberId> Membership::members() const {
  std::vector<MemberId> all;
  all.reserve(voters_.size() + learners_.size());
  std::ranges::merge(voters_, learners_, std::back_inserter(all));
  return all;
}

bool Membership::is_voter(MemberId member) const { return has(voters_, member); }
bool Membership::is_learner(MemberId member) const { return has(learners_, member); }

std::expected<Membership, std::string> Membership::changed(std::span<const MemberChange> changes) const {
  Membership next = *this;
  for (const auto& change : changes) {
    if (change.member == 0) continue;
    std::erase(next.voters_, change.member);
    std::erase(next.learners_, change.member);
    if (change.kind == MemberChange::Kind::add_voter) insert(next.voters_, change.member);
    if (change.kind == MemberChange::Kind::add_learner) insert(next.learners_, change.member);
  }
  if (next.voters_.empty()) return std::unexpected("the last voter can't be removed");
  if (count_different(voters_, next.voters_) > 1) {
    return std::unexpected("more than one voter would change: change one, wait until that is decided, then the next");
  }
  if (next.voters_.size() > k_voters_max) return std::unexpected("a group has at most 7 voters: add a learner");
  if (next.voters_.size() + next.learners_.size() > k_members_max) {
    return std::unexpected("a group has at most 1000 members");
  }
  return next;
}

std::string Membership::encode() const {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(k_membership_version);
  write_ids(out, voters_);
  write_ids(out, learners_);
  return bytes;
}

std::optional<Membership> Membership::decode(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u32() != k_membership_version) return std::nullopt;
  Membership read;
  read.voters_ = read_ids(in);
  read.learners_ = read_ids(in);
  const bool are_apart =
      std::ranges::none_of(read.learners_, [&](MemberId learner) { return has(read.voters_, learner); });
  if (!in.done() || read.voters_.empty() || !are_apart) return std::nullopt;
  return read;
}

}  // namespace skein::inline v0::consensus
