#include "skein/dispatch/ready_queue.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::dispatch {
namespace {

constexpr std::size_t k_sweep_minimum = 64;

bool entry_after(const ReadyEntry& one, const ReadyEntry& other) { return other.before(one); }

std::string text_of(const std::vector<std::string>& capabilities, std::string_view pinned_to) {
  std::string text;
  for (const auto& each : capabilities) text.append(each).push_back('\0');
  // No capability is empty, so this is none.
  if (!pinned_to.empty()) text.append(1, '\0').append(pinned_to);
  return text;
}

}  // namespace

ReadyQueue::ByShape& ReadyQueue::shapes_for(std::string_view pinned_to) {
  if (pinned_to.empty()) return by_shape_;
  const auto known = pinned_shapes_.find(pinned_to);
  return known != pinned_shapes_.end() ? known->second : pinned_shapes_[std::string(pinned_to)];
}

ReadyQueue::Place ReadyQueue::hold(const SharedShape& shape, std::uint32_t swarm, std::string_view besides,
                                   std::uint32_t group, std::string_view pinned_to) {
  ByShape* shapes = &shapes_for(pinned_to);
  auto known = shapes->find(shape.get());
  if (known == shapes->end()) {
    if (idle_ > k_idle_lanes_max || by_shape_.size() > lanes_.size() + k_idle_lanes_max) {
      forget_idle();
      shapes = &shapes_for(pinned_to);
    }
    const std::uint32_t lane = make_lane(*shape, swarm, besides, group, pinned_to);
    auto own = std::make_shared<const ledger::Shape>(*shape);
    known = shapes->emplace(shape.get(), ShapeEntry{shape, std::move(own), lane}).first;
  }
  const ShapeEntry& entry = known->second;
  if (lanes_[entry.lane].tasks++ == 0) --idle_;
  return {entry.lane, &entry.own};
}

std::size_t ReadyQueue::ready_of(std::uint32_t swarm) const {
  std::size_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.in_use && lane.swarm == swarm ? lane.ready : 0;
  return sum;
}

std::size_t ReadyQueue::tasks_of(std::uint32_t swarm) const {
  std::size_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.in_use && lane.swarm == swarm ? lane.tasks : 0;
  return sum;
}

std::uint32_t ReadyQueue::make_lane(const ledger::Shape& shape, std::uint32_t swarm, std::string_view besides,
                                    std::uint32_t group, std::string_view pinned_to) {
  auto capabilities = shape.required();
  if (!besides.empty()) capabilities.emplace_back(besides);
  std::sort(capabilities.begin(), capabilities.end());
  capabilities.erase(std::unique(capabilities.begin(), capabilities.end()), capabilities.end());
  std::string text = std::to_string(shape.type.size()) + ' ' + shape.type + shape.swarm + '\n';
  text += text_of(capabilities, pinned_to);
  if (const auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  std::uint32_t index = 0;
  if (free_lanes_.empty()) {
    index = static_cast<std::uint32_t>(lanes_.size());
    lanes_.emplace_back();
  } else {
    index = free_lanes_.back();
    free_lanes_.pop_back();
    lanes_[index] = Lane{};
  }
  Lane& lane = lanes_[index];
  lane.in_use = true;
  lane.swarm = swarm;
  lane.group = group;
  lane.need = need_for(std::move(capabilities), pinned_to);
  ++needs_[lane.need].lanes;
  by_text_.emplace(std::move(text), index);
  ++idle_;
  return index;
}

std::uint32_t ReadyQueue::need_for(std::vector<std::string> capabilities, std::string_view pinned_to) {
  std::string text = text_of(capabilities, pinned_to);
  if (const auto known = need_by_text_.find(text); known != need_by_text_.end()) return known->second;
  std::uint32_t index = 0;
  if (free_needs_.empty()) {
    index = static_cast<std::uint32_t>(needs_.size());
    needs_.emplace_back();
  } else {
    index = free_needs_.back();
    free_needs_.pop_back();
    needs_[index] = Need{};
  }
  Need& need = needs_[index];
  need.in_use = true;
  need.capabilities = std::move(capabilities);
  need.views.assign(need.capabilities.begin(), need.capabilities.end());
  need.pinned_to = pinned_to;
  need_by_text_.emplace(std::move(text), index);
  return index;
}

void ReadyQueue::let_go(std::uint32_t lane) {
  if (--lanes_[lane].tasks == 0) ++idle_;
}

void ReadyQueue::forget_idle() {
  const auto is_idle = [&](const auto& each) { return lanes_[each.second.lane].tasks == 0; };
  std::erase_if(by_shape_, is_idle);
  for (auto& [agent, shapes] : pinned_shapes_) std::erase_if(shapes, is_idle);
  std::erase_if(pinned_shapes_, [](const auto& each) { return each.second.empty(); });
  std::erase_if(by_text_, [&](const auto& each) {
    Lane& lane = lanes_[each.second];
    if (lane.tasks > 0) return false;
    Need& need = needs_[lane.need];
    if (--need.lanes == 0) {
      if (need.is_unmet) --unmet_;
      need_by_text_.erase(text_of(need.capabilities, need.pinned_to));
      free_needs_.push_back(lane.need);
      need = Need{};
    }
    lane = Lane{};
    free_lanes_.push_back(each.second);
    --idle_;
    return true;
  });
}

void ReadyQueue::push(std::uint32_t index, ReadyEntry entry) {
  Lane& lane = lanes_[index];
  lane.heap.push_back(entry);
  std::push_heap(lane.heap.begin(), lane.heap.end(), entry_after);
  ++lane.ready;
  ++needs_[lane.need].ready;
  ++ready_;
}

void ReadyQueue::dropped(std::uint32_t index) {
  Lane& lane = lanes_[index];
  --lane.ready;
  Need& need = needs_[lane.need];
  if (--need.ready == 0) {
    need.unmet_since.reset();
    need.was_told = false;
  }
  --ready_;
  if (lane.heap.size() > k_sweep_minimum && lane.ready < lane.heap.size() / 2) sweep(lane);
}

void ReadyQueue::sweep(Lane& lane) {
  std::erase_if(lane.heap, [&](const ReadyEntry& entry) { return !is_live(lane, entry); });
  std::make_heap(lane.heap.begin(), lane.heap.end(), entry_after);
}

void ReadyQueue::pop_top(Lane& lane) {
  std::pop_heap(lane.heap.begin(), lane.heap.end(), entry_after);
  lane.heap.pop_back();
}

bool ReadyQueue::clean_top(Lane& lane) {
  while (!lane.heap.empty() && !is_live(lane, lane.heap.front())) pop_top(lane);
  return !lane.heap.empty();
}

bool ReadyQueue::lane_after(std::uint32_t one, std::uint32_t other) const {
  return lanes_[other].heap.front().before(lanes_[one].heap.front());
}

void ReadyQueue::clear_groups() {
  for (Group& group : groups_) {
    for (const std::uint32_t place : group.waiting) {
      group.turns[place].lanes.clear();
      group.turns[place].is_waiting = false;
    }
    group.waiting.clear();
  }
}

void ReadyQueue::join_group(std::uint32_t lane) {
  const std::uint32_t number = lanes_[lane].group;
  const std::uint32_t swarm = lanes_[lane].swarm;
  if (number >= groups_.size()) groups_.resize(std::size_t{number} + 1);
  Group& group = groups_[number];
  if (swarm >= group.places.size()) group.places.resize(std::size_t{swarm} + 1);
  std::uint32_t& place = group.places[swarm];
  if (place == 0) {
    group.turns.push_back({swarm, false, {}});
    place = static_cast<std::uint32_t>(group.turns.size());
  }
  Turn& turn = group.turns[place - 1];
  if (!turn.is_waiting) {
    turn.is_waiting = true;
    group.waiting.push_back(place - 1);
  }
  turn.lanes.push_back(lane);
  std::push_heap(turn.lanes.begin(), turn.lanes.end(), [this](auto one, auto other) { return lane_after(one, other); });
}

bool ReadyQueue::goes_before(const Group& group, std::uint32_t one, std::uint32_t other) const {
  const ReadyEntry& first = lanes_[one].heap.front();
  const ReadyEntry& second = lanes_[other].heap.front();
  const bool is_critical = std::max(first.priority, second.priority) >= ledger::k_critical;
  if (is_critical || lanes_[one].swarm == lanes_[other].swarm) {
    return first.before(second);
  }
  const double mine = group.share.begins(lanes_[one].swarm);
  const double its = group.share.begins(lanes_[other].swarm);
  return mine != its ? mine < its : first.before(second);
}

void ReadyQueue::elect(std::uint32_t number) {
  const auto after = [this](auto one, auto other) { return lane_after(one, other); };
  Group& group = groups_[number];
  Turn* best = nullptr;
  for (std::size_t i = 0; i < group.waiting.size();) {
    Turn& each = group.turns[group.waiting[i]];
    while (!each.lanes.empty() && needs_[lanes_[each.lanes.front()].need].is_unmet) {
      std::pop_heap(each.lanes.begin(), each.lanes.end(), after);
      each.lanes.pop_back();
    }
    if (each.lanes.empty()) {
      each.is_waiting = false;
      group.waiting[i] = group.waiting.back();
      group.waiting.pop_back();
      continue;
    }
    if (best == nullptr || goes_before(group, each.lanes.front(), best->lanes.front())) best = &each;
    ++i;
  }
  if (best == nullptr) return;
  round_.push_back(best->lanes.front());
  std::pop_heap(best->lanes.begin(), best->lanes.end(), after);
  best->lanes.pop_back();
}

void ReadyQueue::arrange_round() {
  for (std::uint32_t group = 1; group < groups_.size(); ++group) elect(group);
  std::make_heap(round_.begin(), round_.end(), [this](auto one, auto other) { return lane_after(one, other); });
}

std::uint32_t ReadyQueue::pop_round() {
  std::pop_heap(round_.begin(), round_.end(), [this](auto one, auto other) { return lane_after(one, other); });
  const std::uint32_t lane = round_.back();
  round_.pop_back();
  return lane;
}

void ReadyQueue::send_next(std::uint32_t lane) {
  if (lanes_[lane].group == 0) return;
  const std::size_t before = round_.size();
  elect(lanes_[lane].group);
  if (round_.size() == before) return;
  std::push_heap(round_.begin(), round_.end(), [this](auto one, auto other) { return lane_after(one, other); });
}

std::optional<ReadyQueue::Next> ReadyQueue::next() {
  while (!round_.empty()) {
    const std::uint32_t first = round_.front();
    if (!needs_[lanes_[first].need].is_unmet) return Next{lanes_[first].heap.front(), first};
    send_next(pop_round());
  }
  return std::nullopt;
}

void ReadyQueue::taken(double cost) {
  const std::uint32_t index = pop_round();
  Lane& lane = lanes_[index];
  Need& need = needs_[lane.need];
  pop_top(lane);
  --lane.ready;
  --need.ready;
  --ready_;
  need.unmet_since.reset();
  need.was_told = false;
  const bool has_more = clean_top(lane);
  if (lane.group != 0) {
    Group& group = groups_[lane.group];
    group.share.served(lane.swarm, cost);
    // Alone in its group: it is its own successor.
    const bool is_alone = group.waiting.size() == 1 && group.turns[group.waiting.front()].lanes.empty();
    if (!is_alone) {
      if (has_more) join_group(index);
      send_next(index);
      return;
    }
  }
  if (!has_more) return;
  round_.push_back(index);
  std::push_heap(round_.begin(), round_.end(), [this](auto one, auto other) { return lane_after(one, other); });
}

void ReadyQueue::unmet(Instant now) {
  Need& need = needs_[lanes_[round_.front()].need];
  need.is_unmet = true;
  ++unmet_;
  if (!need.unmet_since) need.unmet_since = now;
}

void ReadyQueue::close() { send_next(pop_round()); }

void ReadyQueue::ask_again() {
  if (unmet_ == 0) return;
  for (Need& need : needs_) need.is_unmet = false;
  unmet_ = 0;
}

void ReadyQueue::clear() {
  needs_.clear();
  lanes_.clear();
  free_needs_.clear();
  free_lanes_.clear();
  by_shape_.clear();
  pinned_shapes_.clear();
  by_text_.clear();
  need_by_text_.clear();
  round_.clear();
  groups_.clear();
  ready_ = idle_ = unmet_ = 0;
}

}  // namespace skein::inline v0::dispatch
