// What happens in a story of the simulated group: bad times, healing, and what must be true at the end.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "sim/raft_world.hpp"

namespace skein::sim::raft {

using consensus::Consensus;
using consensus::EntryKind;
using consensus::MemberChange;
using consensus::MemberRole;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t k_hosts = 24;  // in one story, with those that joined again
constexpr std::uint64_t k_searched_of = 10;

}  // namespace

RaftWorld::RaftWorld(std::uint64_t seed, bool trace, std::size_t members)
    : random_(seed), tracing_(trace), limits_(pick_limits()), observer_(limits_), net_(seed ^ 0x6e6574) {
  constexpr std::size_t k_sizes[] = {3, 3, 3, 5, 5, 7};
  const std::size_t voters = members != 0 ? members : k_sizes[random_.below(std::size(k_sizes))];
  has_equal_seeds_ = random_.chance(0.1);
  harm_every_ = std::chrono::milliseconds(40 + random_.below(400));
  std::vector<MemberId> ids;
  for (MemberId id = 1; id <= voters; ++id) ids.push_back(id);
  const auto bytes = std::make_shared<const std::string>(Membership(ids, {}).encode());
  Entry first;
  first.position = 1;
  first.term = 1;
  first.kind = EntryKind::membership;
  first.bytes = *bytes;
  first.owner = bytes;
  for (std::size_t i = 0; i < voters; ++i) start(make_host(first));
  operations_max_ = 60 + random_.below(400);
  clients_.resize(2 + random_.below(7));
  for (std::uint32_t index = 0; index < clients_.size(); ++index) {
    clients_[index].id = ++client_ids_;
    queue_.push(now_ + below(500ms), EventKind::client, index, 0, clients_[index].attempt);
  }
}

consensus::ConsensusLimits RaftWorld::pick_limits() {
  const auto pick = [&](std::initializer_list<std::uint64_t> values) {
    return *(values.begin() + random_.below(values.size()));
  };
  Limits limits;
  limits.message_bytes = pick({200, 1'000, 4'000});
  limits.inflight_messages = pick({1, 4, 64});
  limits.inflight_bytes = pick({500, 1U << 20U});
  limits.undecided_bytes = pick({2'000, 6'000, 1U << 20U});
  limits.unstored_bytes = pick({500, 4'000, 1U << 20U});
  limits.cache_bytes = pick({0, 600, 1U << 20U});
  limits.apply_bytes = pick({300, 2'000, 1U << 20U});
  limits.chunk_bytes = pick({60, 150, 2'000});
  limits.answers_held = pick({3, 4'096, 4'096});
  limits.reads_waiting = pick({2, 1'000});
  return limits;
}

RaftStory RaftWorld::run() {
  try {
    bad_times();
    heal();
    if (should_live()) {
      await_leader();
      await_answers();
      await_agreement();
      stay_quiet();
      hand_over();
    } else {
      ++story_.counts["stories without a quorum at the end"];
    }
    judge_history();
  } catch (const std::exception& error) {
    violated(error.what());
  }
  story_.counts["steps"] = steps_;
  story_.counts["messages"] = messages_sent_;
  story_.counts["positions decided"] = observer_.decided();
  story_.counts["terms"] = observer_.highest_term();
  story_.violation = observer_.violation();
  story_.tally = observer_.tally();
  return std::move(story_);
}

void RaftWorld::bad_times() {
  const Duration calm = 300ms + below(500ms);
  queue_.push(now_ + calm, EventKind::harm, 0, 0, 0);
  run_until(now_ + calm + 2s + below(6s));
}

void RaftWorld::do_harm() {
  if (!is_bad_) return;
  queue_.push(now_ + around(harm_every_), EventKind::harm, 0, 0, 0);
  struct Harm {
    std::uint64_t weight;
    void (RaftWorld::*happens)(Host& host);
  };
  static constexpr Harm k_harms[] = {
      {6, &RaftWorld::host_crashes},
      {1, &RaftWorld::all_crash},
      {4, &RaftWorld::leader_crashes},
      {3, &RaftWorld::host_pauses},
      {4, &RaftWorld::leader_pauses},
      {4, &RaftWorld::group_is_parted},
      {4, &RaftWorld::host_is_cut_off},
      {5, &RaftWorld::leader_is_cut_off},
      {3, &RaftWorld::link_is_cut_one_way},
      {3, &RaftWorld::host_is_deaf_or_mute},
      {6, &RaftWorld::weather_changes},
      {4, &RaftWorld::disk_is_slow},
      {3, &RaftWorld::disk_is_stuck},
      {2, &RaftWorld::disk_is_full},
      {2, &RaftWorld::clock_is_skewed},
      {2, &RaftWorld::apply_is_slow},
      {14, &RaftWorld::snapshot_is_taken},
      {10, &RaftWorld::membership_changes},
      {5, &RaftWorld::leadership_is_handed_over},
      {1, &RaftWorld::folder_is_wiped},
      {1, &RaftWorld::folder_rots},
      {3, &RaftWorld::somebody_campaigns},
      {2, &RaftWorld::leader_is_flooded},
      {2, &RaftWorld::leader_reads_and_is_replaced},
  };
  static constexpr std::uint64_t k_total = [] {
    std::uint64_t sum = 0;
    for (const Harm& each : k_harms) sum += each.weight;
    return sum;
  }();
  Host& host = any_host();
  std::uint64_t left = random_.below(k_total);
  for (const Harm& each : k_harms) {
    if (left < each.weight) return (this->*each.happens)(host);
    left -= each.weight;
  }
}

RaftWorld::Host& RaftWorld::any_host() { return hosts_[random_.below(hosts_.size())]; }

// The one that leads in the highest term, or thinks so.
RaftWorld::Host* RaftWorld::leading_host() {
  Host* best = nullptr;
  for (Host& host : hosts_) {
    if (!host.runs() || host.core->role() != MemberRole::leader) continue;
    if (best == nullptr || host.core->term() > best->core->term()) best = &host;
  }
  return best;
}

// Crashes and pauses.

void RaftWorld::host_crashes(Host& host) {
  if (!host.runs()) return;
  crash(host, false);
  queue_.push(now_ + below(random_.chance(0.3) ? 20ms : 1'500ms), EventKind::start, static_cast<std::uint32_t>(host.id),
              0, 0);
}

void RaftWorld::all_crash(Host&) {
  for (Host& each : hosts_) host_crashes(each);
}

void RaftWorld::leader_crashes(Host&) {
  if (Host* leader = leading_host()) host_crashes(*leader);
}

void RaftWorld::host_pauses(Host& host) {
  if (!host.runs() || host.paused_until > now_) return;
  host.paused_until = now_ + below(random_.chance(0.5) ? 200ms : 1'500ms);
  // Whatever judges by time counts from the end of the pause on.
  observer_.resumes(host.id, local_now(host) + (host.paused_until - now_) * host.clock_permille / 1'000);
  note("pauses", host);
  ++story_.counts["pauses"];
}

void RaftWorld::leader_pauses(Host&) {
  if (Host* leader = leading_host()) host_pauses(*leader);
}

// Links.

void RaftWorld::cut_off(MemberId member, bool in, bool out) {
  for (const Host& other : hosts_) {
    if (other.id == member) continue;
    if (in) net_.cut(other.id, member);
    if (out) net_.cut(member, other.id);
  }
}

void RaftWorld::links_heal_after(Duration limit) {
  ++story_.counts["cuts"];
  queue_.push(now_ + below(limit), EventKind::heal_links, 0, 0, 0);
}

void RaftWorld::group_is_parted(Host&) {
  const std::uint64_t side = random_.next();
  for (const Host& one : hosts_) {
    for (const Host& other : hosts_) {
      if (((side >> one.id) & 1U) != ((side >> other.id) & 1U)) net_.cut(one.id, other.id);
    }
  }
  note([&] { return fmt::format("the group is parted: {:x}", side & 0xffffff); });
  links_heal_after(1'500ms);
}

void RaftWorld::host_is_cut_off(Host& host) {
  cut_off(host.id, true, true);
  note("is cut off", host);
  links_heal_after(2s);
}

void RaftWorld::leader_is_cut_off(Host& host) {
  Host* leader = leading_host();
  host_is_cut_off(leader == nullptr ? host : *leader);
}

void RaftWorld::link_is_cut_one_way(Host& host) {
  Host& other = any_host();
  if (other.id == host.id) return;
  net_.cut(host.id, other.id);
  note([&] { return fmt::format("nothing passes from {} to {}", host.id, other.id); });
  links_heal_after(2s);
}

void RaftWorld::host_is_deaf_or_mute(Host& host) {
  Host* leader = leading_host();
  Host& whose = leader != nullptr && random_.chance(0.5) ? *leader : host;
  const bool is_deaf = random_.chance(0.5);
  cut_off(whose.id, is_deaf, !is_deaf);
  note(is_deaf ? "is deaf" : "is mute", whose);
  links_heal_after(2s);
}

void RaftWorld::weather_changes(Host&) {
  net_.weather = Weather{};
  if (random_.chance(0.4)) return;
  const auto some = [&](double most) { return random_.chance(0.5) ? random_.unit() * most : 0.0; };
  net_.weather.loss = some(0.25);
  net_.weather.twice = some(0.3);
  net_.weather.reordered = some(0.6);
  net_.weather.very_late = some(0.05);
  net_.weather.delay_max = std::chrono::milliseconds(1 + random_.below(random_.chance(0.3) ? 120 : 20));
}

// Disks, clocks, machines.

void RaftWorld::disk_is_slow(Host& host) {
  host.disk_time = random_.chance(0.4) ? Duration(400us) : Duration(std::chrono::milliseconds(1 + random_.below(150)));
}

void RaftWorld::disk_is_stuck(Host& host) {
  Host* leader = leading_host();
  Host& whose = leader != nullptr && random_.chance(0.6) ? *leader : host;
  whose.disk_held_until = now_ + below(4s);
  note("has a stuck disk", whose);
  ++story_.counts["stuck disks"];
}

// Writing waits until there is room again.
void RaftWorld::disk_is_full(Host& host) {
  if (!host.runs()) return;
  const bool is_full = random_.chance(0.5);
  host.disk_held_until = now_ + (is_full ? below(1s) : 0s);
  call(host, [&](Consensus& core) { core.set_little_disk(is_full); });
  ++story_.counts["full disks"];
}

void RaftWorld::clock_is_skewed(Host& host) {
  set_clock_speed(host, random_.chance(0.4) ? 1'000 : static_cast<std::int64_t>(850 + random_.below(300)));
}

void RaftWorld::apply_is_slow(Host& host) {
  host.apply_time = random_.chance(0.5) ? Duration(100us) : Duration(std::chrono::milliseconds(random_.below(200)));
}

void RaftWorld::snapshot_is_taken(Host& host) {
  Host* leader = leading_host();
  take_snapshot(leader != nullptr && random_.chance(0.5) ? *leader : host);
}

// The operator.

bool RaftWorld::is_alive(MemberId member) const { return member <= hosts_.size() && !hosts_[member - 1].is_lost; }

std::vector<Membership> RaftWorld::memberships_in_force() const {
  std::vector<Membership> all{observer_.decided_membership()};
  for (const Host& host : hosts_) {
    if (host.is_lost) continue;
    if (host.runs()) all.push_back(host.core->membership());
    const consensus::StartState found = RaftDisk(host.disk).load();
    all.push_back(found.memberships.empty() ? found.membership : found.memberships.back().second);
  }
  return all;
}

// Whether a majority of every membership that may be in force stays when this one is gone for good.
bool RaftWorld::may_lose(const Host& host) const {
  // A voter by an entry that nobody else has, with a longer log that makes it none, can neither stand nor vote: with
  // another one lost, a majority that is alive is not enough then.
  const std::vector<MemberId>& voters = observer_.decided_membership().voters();
  for (const Membership& each : memberships_in_force()) {
    if (!each.voters().empty() && each.voters() != voters) return false;
  }
  return std::ranges::none_of(memberships_in_force(), [&](const Membership& membership) {
    std::size_t lost = 0;
    for (const MemberId voter : membership.voters()) lost += voter == host.id || !is_alive(voter) ? 1 : 0;
    return 2 * lost >= membership.voters().size() && !membership.voters().empty();
  });
}

void RaftWorld::membership_changes(Host& host) {
  Host* leader = leading_host();
  // Now and then one that no longer leads is asked, or one that leads since just now.
  if (leader == nullptr || random_.chance(0.05)) leader = &host;
  if (!leader->runs() || leader->paused_until > now_) return;
  const Membership now = leader->core->membership();
  std::vector<MemberChange> changes;
  const std::vector<MemberId> members = now.members();
  if (members.empty()) return;
  const MemberId some = members[random_.below(members.size())];
  const auto lost = std::ranges::find_if(members, [&](MemberId each) { return !is_alive(each); });
  const std::uint64_t choice = random_.below(10);
  if (lost != members.end() && choice < 5) {
    changes.push_back({MemberChange::Kind::remove, *lost});
  } else if (!now.learners().empty() && choice < 5) {
    changes.push_back({MemberChange::Kind::add_voter, now.learners()[random_.below(now.learners().size())]});
  } else if (choice < 7) {
    // A machine that was in the group before, or a new one.
    const MemberId other = any_host().id;
    if (!now.contains(other) && is_alive(other)) {
      changes.push_back({MemberChange::Kind::add_learner, other});
    } else if (hosts_.size() < k_hosts && members.size() < 7) {
      Host& fresh = make_host(std::nullopt);
      start(fresh);
      changes.push_back(
          {random_.chance(0.3) ? MemberChange::Kind::add_voter : MemberChange::Kind::add_learner, fresh.id});
    }
  } else if (now.voters().size() > 2 || random_.chance(0.4)) {
    const MemberId whom = random_.chance(0.3) ? leader->id : some;
    changes.push_back({random_.chance(0.7) ? MemberChange::Kind::remove : MemberChange::Kind::add_learner, whom});
  }
  if (changes.empty() || is_over()) return;
  // In small groups the leader is then cut off with an entry that nobody else has.
  if (now.voters().size() <= 3 && random_.chance(0.15)) {
    cut_off(leader->id, true, true);
    links_heal_after(1s);
  }
  if (const auto next = now.changed(changes)) {
    std::size_t alive = 0;
    for (const MemberId voter : next->voters()) alive += is_alive(voter) ? 1 : 0;
    if (alive < next->quorum()) return;
    // See may_lose().
    const bool has_lost = lost != members.end() && now.is_voter(*lost);
    if (has_lost && next->voters() != now.voters() && changes[0].member != *lost) return;
  }
  for (const MemberChange& change : changes) {
    if (Host* joins = host_of(change.member)) joins->knows_it_is_out = false;
  }
  observer_.change_asked(leader->id);
  call(*leader, [&](Consensus& core) {
    const auto proposed = core.propose_change(changes);
    ++story_.counts[proposed ? "changes proposed" : "changes refused"];
    note([&] {
      return fmt::format("{} is asked for change {} of {}: {}", leader->id, static_cast<int>(changes[0].kind),
                         changes[0].member, proposed ? "proposed" : proposed.error().why);
    });
  });
}

void RaftWorld::leadership_is_handed_over(Host& host) {
  Host* leader = leading_host();
  if (leader == nullptr || leader->paused_until > now_) return;
  const auto& voters = leader->core->membership().voters();
  if (voters.empty()) return;
  const MemberId target = random_.chance(0.8) ? voters[random_.below(voters.size())] : host.id;
  if (target == leader->id) return;
  const Host* to = host_of(target);
  const bool is_reachable = to->runs() && to->paused_until <= now_ && !net_.is_cut(leader->id, target);
  observer_.transfer_asked(leader->id, target, is_reachable);
  ++story_.counts["transfers"];
  note([&] { return fmt::format("{} is asked to hand over to {}", leader->id, target); });
  call(*leader, [&](Consensus& core) { [[maybe_unused]] const auto asked = core.transfer_to(target); });
}

void RaftWorld::joins_anew() {
  if (hosts_.size() < k_hosts) start(make_host(std::nullopt));
}

void RaftWorld::folder_is_wiped(Host& host) {
  if (host.is_lost || !may_lose(host)) return;
  note("loses its folder", host);
  crash(host, true);
  observer_.met(29);
  joins_anew();
}

// Found when it starts: the checksums tell, and who can't trust its log must not vote with it.
void RaftWorld::folder_rots(Host& host) {
  if (host.is_lost || !may_lose(host)) return;
  note("has a rotten folder", host);
  crash(host, true);
  observer_.met(30);
  joins_anew();
}

void RaftWorld::somebody_campaigns(Host& host) {
  if (!host.runs() || host.paused_until > now_) return;
  call(host, [](Consensus& core) { core.campaign(); });
}

void RaftWorld::leader_is_flooded(Host&) {
  Host* leader = leading_host();
  if (leader != nullptr && leader->paused_until <= now_) flood(*leader);
}

// A read begins a round of heartbeats, another read comes, and the leader stops before the answers. They were true when
// they were given, and are old when it goes on.
void RaftWorld::leader_reads_and_is_replaced(Host&) {
  Host* leader = leading_host();
  if (leader == nullptr || leader->paused_until > now_) return;
  for (const bool is_first : {true, false}) {
    Operation read;
    read.is_read = true;
    read.client = ++client_ids_;
    read.serial = 1;
    read.key = k_keys - 1;
    read.asked = now_;
    history_.push_back(std::move(read));
    const Request request{.client = ~0U, .operation = history_.size() - 1, .serial = 1};
    if (is_first) {
      serve(*leader, request);
    } else {
      queue_.push(now_ + 10us, EventKind::request, static_cast<std::uint32_t>(leader->id), 0, requests_.put(request));
    }
  }
  if (is_over() || !leader->runs()) return;
  leader->paused_until = now_ + 300ms + below(900ms);
  observer_.resumes(leader->id, local_now(*leader) + (leader->paused_until - now_) * leader->clock_permille / 1'000);
  note("pauses, with reads under way", *leader);
}

// The end.

void RaftWorld::heal() {
  if (is_over()) return;
  note([] { return std::string("everything heals"); });
  is_bad_ = false;
  is_healing_ = true;
  healed_at_ = now_;
  net_.heal();
  net_.weather = Weather{};
  for (Host& host : hosts_) {
    host.paused_until = Instant{};
    host.disk_time = 400us;
    host.disk_held_until = Instant{};
    host.apply_time = 100us;
    set_clock_speed(host, 1'000);
    start(host);
    // Those were planned for the end of a pause.
    if (host.runs()) call(host, [](Consensus& core) { core.set_little_disk(false); });
    if (host.runs() && host.is_disk_busy) {
      queue_.push(now_, EventKind::disk, static_cast<std::uint32_t>(host.id), host.life, host.disk.waiting());
    }
  }
  operations_max_ = history_.size() + 2 * clients_.size();
  for (std::uint32_t index = 0; index < clients_.size(); ++index) {
    queue_.push(now_, EventKind::client, index, 0, clients_[index].attempt);
  }
}

bool RaftWorld::should_live() const {
  return std::ranges::all_of(memberships_in_force(), [&](const Membership& membership) {
    std::size_t alive = 0;
    for (const MemberId voter : membership.voters()) alive += is_alive(voter) ? 1 : 0;
    return membership.voters().empty() || alive >= membership.quorum();
  });
}

void RaftWorld::await_leader() {
  // Members that draw the same numbers from one seed split the votes again and again; real ones do not.
  const Instant until = now_ + (has_equal_seeds_ ? 30 : 10) * limits_.election_max;
  const auto leads = [&] {
    const Host* leader = leading_host();
    return leader != nullptr && observer_.newest_leader() == leader->id &&
           leader->core->log().term_at(leader->core->decided()) == leader->core->term();
  };
  while (!is_over() && !leads()) {
    if (now_ >= until) return violated("nobody leads within ten election timeouts after everything healed");
    run_until(now_ + 10ms);
  }
}

void RaftWorld::await_answers() {
  const Instant until = now_ + 60s;
  const auto is_waiting = [](const Client& client) { return client.operation.has_value(); };
  while (!is_over() && (std::ranges::any_of(clients_, is_waiting) || history_.size() < operations_max_)) {
    if (now_ >= until) return violated("a client was not answered within 60 seconds after everything healed");
    run_until(now_ + 20ms);
  }
}

bool RaftWorld::agree() const {
  const Membership& membership = observer_.decided_membership();
  return std::ranges::all_of(hosts_, [&](const Host& host) {
    if (host.is_lost || !membership.contains(host.id)) return true;
    return host.machine.position() == observer_.decided() && host.disk.last() == observer_.decided() &&
           host.disk.waiting() == 0;
  });
}

void RaftWorld::await_agreement() {
  const Instant until = now_ + 30s;
  while (!is_over() && !agree()) {
    if (now_ >= until) return violated("a member does not catch up within 30 seconds after everything healed");
    run_until(now_ + 20ms);
  }
}

// A removed member that does not know it must not disturb the group; and it learns of its removal.
void RaftWorld::stay_quiet() {
  if (is_over()) return;
  // What was sent in bad times may still come.
  run_until(std::max(now_, healed_at_ + 2 * k_very_late + 500ms));
  if (is_over()) return;
  const Term term = observer_.highest_term();
  run_until(now_ + 1s);
  if (is_over()) return;
  if (observer_.highest_term() != term) return violated("a leader is replaced though all is well");
  if (const Host* leader = leading_host(); leader != nullptr && leader->core->transfer_target() != 0) {
    return violated("a transfer of leadership does not end");
  }
  for (const Host& host : hosts_) {
    if (!host.runs() || observer_.decided_membership().contains(host.id) || host.knows_it_is_out) continue;
    if (host.core->membership().is_voter(host.id)) {
      return violated(fmt::format("{} is out of the group, and is not told", host.id));
    }
  }
}

// A healthy leader hands over to another voter when it is asked to.
void RaftWorld::hand_over() {
  Host* leader = is_over() ? nullptr : leading_host();
  if (leader == nullptr) return;
  const std::vector<MemberId>& voters = leader->core->membership().voters();
  const auto other = std::ranges::find_if(voters, [&](MemberId each) { return each != leader->id && is_alive(each); });
  if (other == voters.end()) return;
  const MemberId target = *other;
  call(*leader, [&](Consensus& core) { [[maybe_unused]] const auto asked = core.transfer_to(target); });
  const Instant until = now_ + 1s;
  while (!is_over() && observer_.newest_leader() != target) {
    if (now_ >= until) return violated("leadership is not handed over though all is well");
    run_until(now_ + 10ms);
  }
}

void RaftWorld::judge_history() {
  if (is_over()) return;
  if (auto wrong = wrong_by_positions(history_, observer_.decided_commands())) return violated(std::move(*wrong));
  if (random_.below(k_searched_of) != 0) return;
  for (std::size_t key = 0; key + 1 < k_keys; ++key) {
    std::vector<Operation> of_key;
    std::ranges::copy_if(history_, std::back_inserter(of_key), [&](const Operation& each) { return each.key == key; });
    const SearchResult result = explained_by_search(of_key);
    ++story_.counts[result == SearchResult::too_many ? "keys too long to search" : "keys searched"];
    if (result == SearchResult::unexplained) violated("no order of the operations of a key explains what they said");
  }
}

}  // namespace skein::sim::raft
