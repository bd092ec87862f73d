// Links between members of a group that live in one program: what one sends, the other receives at once, in order.
// Links can be cut, one way or both. For tests and measurements; any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "skein/consensus/message.hpp"
#include "skein/journal/member_journal.hpp"

namespace skein::inline v0::journal {

class LoopbackLinks {
 public:
  using MemberId = consensus::MemberId;

  // A journal must be detached before it is destroyed.
  void attach(MemberId member, MemberJournal& journal) {
    const std::lock_guard lock(mutex_);
    members_[member] = &journal;
  }
  void detach(MemberId member) {
    const std::lock_guard lock(mutex_);
    members_.erase(member);
  }
  // For MemberCore::on_send().
  [[nodiscard]] MemberCore::SendFn sender() {
    return [this](std::vector<consensus::PeerMessage> messages) { deliver(std::move(messages)); };
  }
  void cut(MemberId from, MemberId to) {
    const std::lock_guard lock(mutex_);
    cuts_.emplace(from, to);
  }
  // Nobody hears it, and it hears nobody.
  void cut_off(MemberId member) {
    const std::lock_guard lock(mutex_);
    cut_off_.insert(member);
  }
  void heal() {
    const std::lock_guard lock(mutex_);
    cuts_.clear();
    cut_off_.clear();
  }

 private:
  void deliver(std::vector<consensus::PeerMessage> messages) {
    const std::lock_guard lock(mutex_);
    for (auto& message : messages) {
      const auto to = members_.find(message.to);
      const bool is_cut = cuts_.contains({message.from, message.to}) || cut_off_.contains(message.from) ||
                          cut_off_.contains(message.to);
      if (to != members_.end() && !is_cut) to->second->receive(std::move(message));
    }
  }

  std::mutex mutex_;
  std::map<MemberId, MemberJournal*> members_;
  std::set<std::pair<MemberId, MemberId>> cuts_;
  std::set<MemberId> cut_off_;
};

}  // namespace skein::inline v0::journal
