#include "sim/archive_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "skein/archive/agreed_clock.hpp"
#include "skein/archive/agreement.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/base/random.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {
namespace {

using archive::Discord;
using archive::MemoryStore;
using ledger::FinishNumber;
using ledger::TaskId;
using ledger::WallMs;

constexpr WallMs k_hour = 3'600'000;
constexpr WallMs k_start = 1'700'000'000'000;
constexpr archive::Retention k_retention{std::chrono::hours(72), 0};

// The bytes of a snapshot, in one piece.
struct Bytes final : journal::SnapshotSink {
  std::string all;
  void write(std::string_view piece) override { all.append(piece); }
};

class ArchiveWalk {
 public:
  explicit ArchiveWalk(std::uint64_t seed) : random_(seed) {
    apply({ledger::LedgerVersion{ledger::k_ledger_version}, ledger::TakeDispatch{"node", k_start}});
    must(store_.keep_note(archive::k_note_folder, "ours").has_value(), "a note is refused");
    sealed_ = store_.image();
  }

  std::optional<std::string> run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !violation_; ++i) {
      step();
      if (!violation_) check();
    }
    return violation_;
  }

 private:
  struct Moment {
    std::string snapshot;
    journal::Position position = 0;
  };

  void violate(std::string what) {
    if (!violation_) violation_ = std::move(what);
  }
  void must(bool holds, std::string_view what) {
    if (!holds) violate(std::string(what));
  }
  static std::string result_of(TaskId id) { return fmt::format("result of {}", id.low); }
  [[nodiscard]] WallMs wall() const { return now_ + jump_; }
  [[nodiscard]] BootTime boot() const { return {1, now_ - k_start}; }

  std::vector<ledger::OpResult> apply(const std::vector<ledger::Op>& ops) {
    return *ledger::decode_results(ledger_->apply(++position_, ledger::encode_command(ops)));
  }

  void step() {
    pass_time();
    switch (random_.below(17)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return finish(1 + random_.below(4));
      case 4:
      case 5:
        return insert(1 + random_.below(5));
      case 6:
      case 7:
      case 8:
        return seal();
      case 9:
        return restart(random_.chance(0.5));
      case 10:
        return harm();
      case 11:
        return damage();
      case 12:
        return remember();
      case 13:
        return go_back();
      case 14:
        return move_clock();
      case 15:
        return probe();
      default:
        return retain();
    }
  }

  // A node looks at its clocks every minute; here every hour is enough.
  void pass_time() {
    const std::uint64_t hours = random_.below(8);
    for (std::uint64_t i = 0; i < hours; ++i) {
      now_ += k_hour;
      believed_ = clock_.look(wall(), boot());
      if (jump_ != 0 && now_ >= jump_ends_) jump_ = 0;
    }
  }

  // Never for as long as it takes to be believed.
  void move_clock() {
    if (jump_ != 0) return;
    jump_ = (1 + random_.below(200)) * 24 * k_hour;
    jump_ends_ = now_ + random_.below(12) * k_hour;
    believed_ = clock_.look(wall(), boot());
    retain();
  }

  void finish(std::uint64_t count) {
    const ledger::Epoch epoch = ledger_->epoch();
    // Some that were open once more after the journal went back, else new ones.
    for (std::uint64_t i = 0; i < count; ++i) {
      TaskId id{0x0190'0000'0000'7000ULL, 0x8000'0000'0000'0000ULL + ++last_task_};
      const auto open = ledger_->freeze()->open_tasks();
      if (!open.empty()) {
        id = open.front().id;
      } else {
        ledger::TaskSpec spec;
        spec.type = "t";
        apply({ledger::Submit{id, now_, spec}});
        if (random_.chance(0.2)) remember();
      }
      const auto fence = apply({ledger::Assign{epoch, id, "agent", now_}}).front().number;
      apply({ledger::Complete{id, fence, wall(), ledger::body_of(result_of(id))}});
    }
  }

  void insert(std::uint64_t count) {
    const auto batch = ledger_->finished_after(ledger_->counters().archived_up_to, count);
    if (const auto ok = store_.insert(batch); !ok) violate("an insert is refused: " + ok.error().describe());
  }

  void seal() {
    must(store_.keep_note(archive::k_note_position, std::to_string(position_)).has_value(), "a note is refused");
    must(store_.seal().has_value(), "a seal fails");
    sealed_ = store_.image();
    older_.push_back(sealed_);
    // As far as it has them one after the other.
    FinishNumber up_to = ledger_->counters().archived_up_to;
    for (const auto& each : ledger_->finished_after(up_to, 1000)) {
      if (!sealed_.tasks.contains(each->finish_number)) break;
      up_to = each->finish_number;
    }
    for (const auto& each : ledger_->finished_after(ledger_->counters().archived_up_to, 1000)) {
      if (each->finish_number <= up_to) archived_.insert(each->task.id);
    }
    apply({ledger::Archived{up_to}});
  }

  void restart(bool is_power_cut) {
    if (is_power_cut) store_.become(sealed_);
    sealed_ = store_.image();
    start(false);
  }

  // What somebody does to the file while no node runs.
  void harm() {
    auto image = sealed_;
    is_there_ = true;
    const FinishNumber up_to = ledger_->counters().archived_up_to;
    bool is_harm = false;
    switch (random_.below(4)) {
      case 0:
        if (older_.empty()) return;
        image = older_[random_.below(older_.size())];
        is_harm = image.marks.last < up_to;
        // One that had gone by retention and came back is nobody's loss.
        if (!is_harm && !has_all_archived(image)) return;
        break;
      case 1:
        is_there_ = false;
        image = {};
        is_harm = up_to > 0;
        break;
      case 2:
        image = foreign();
        is_harm = true;
        break;
      default: {
        if (image.tasks.empty()) return;
        auto at = image.tasks.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random_.below(image.tasks.size())));
        image.tasks.erase(at);
        is_harm = true;
        break;
      }
    }
    store_.become(image);
    sealed_ = std::move(image);
    start(is_harm);
  }

  [[nodiscard]] bool has_all_archived(const MemoryStore::Image& image) const {
    std::set<TaskId> there;
    for (const auto& [number, each] : image.tasks) there.insert(each->task.id);
    return std::includes(there.begin(), there.end(), archived_.begin(), archived_.end());
  }

  // Of another folder, with other tasks under the same numbers.
  MemoryStore::Image foreign() {
    MemoryStore other;
    std::vector<archive::Finished> tasks;
    for (FinishNumber n = 1; n <= ledger_->counters().last_finished; ++n) {
      auto each = std::make_shared<ledger::FinishedTask>();
      each->task.id = {0x0190'0000'0000'7000ULL, 0x9000'0000'0000'0000ULL + n};
      each->task.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"default", "t", {}});
      each->task.state = ledger::State::completed;
      each->finish_number = n;
      tasks.push_back(std::move(each));
    }
    must(other.insert(tasks).has_value(), "another store takes nothing");
    must(other.keep_note(archive::k_note_folder, "another").has_value(), "a note is refused");
    return other.image();
  }

  // Another task with a number that has its own.
  void probe() {
    const auto image = store_.image();
    if (image.tasks.empty()) return;
    const auto& [number, there] = *image.tasks.begin();
    auto other = std::make_shared<ledger::FinishedTask>(*there);
    other->task.id = {0x0190'0000'0000'7000ULL, 0xA000'0000'0000'0000ULL + number};
    const std::vector<archive::Finished> one{other};
    must(!store_.insert(one), "a task takes the number of another");
  }

  void damage() {
    auto image = store_.image();
    if (image.tasks.empty()) return;
    auto at = image.tasks.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(image.tasks.size())));
    const bool is_damaged = store_.damage(at->first);
    must(is_damaged, "a record that is there cannot be damaged");
    const TaskId id = at->second->task.id;
    const auto found = store_.find(id);
    must(!found, "a damaged record is handed out");
    // Somebody puts the file back.
    store_.become(std::move(image));
  }

  void remember() {
    Bytes bytes;
    ledger_->freeze()->write(bytes);
    moments_.push_back({std::move(bytes.all), position_});
  }

  // The journal as it was.
  void go_back() {
    if (moments_.empty()) return;
    const Moment moment = moments_[random_.below(moments_.size())];
    std::erase_if(moments_, [&](const Moment& each) { return each.position > moment.position; });
    auto fresh = std::make_unique<ledger::Ledger>();
    must(fresh->restore(moment.snapshot), "a snapshot is refused");
    ledger_ = std::move(fresh);
    older_.clear();
    position_ = moment.position;
    store_.become(sealed_);
    std::uint64_t saw = 0;
    const auto note = sealed_.notes.find(archive::k_note_position);
    if (note != sealed_.notes.end()) saw = std::stoull(note->second);
    const auto counters = ledger_->counters();
    start(sealed_.marks.last > counters.last_finished || saw > position_);
  }

  // As a node does before its first task.
  void start(bool is_harmed) {
    const auto discord = compare();
    if (discord && !is_harmed) return violate("a whole archive is refused: " + discord->describe("data"));
    if (!discord && is_harmed) return violate("nobody notices that journal and archive do not go together");
    if (discord) accept(*discord);
    must(store_.keep_note(archive::k_note_folder, "ours").has_value(), "a note is refused");
    is_there_ = true;
    sealed_ = store_.image();
  }

  std::optional<Discord> compare() {
    const auto counters = ledger_->counters();
    archive::ArchiveSide side;
    side.is_there = is_there_;
    side.marks = *store_.marks();
    side.counted = *store_.count();
    side.folder = *store_.note(archive::k_note_folder);
    const auto position = *store_.note(archive::k_note_position);
    if (!position.empty()) side.position = std::stoull(position);
    return archive::compare({counters.archived_up_to, counters.last_finished, position_, "ours"}, side);
  }

  void accept(const Discord& discord) {
    if (discord.kind == Discord::Kind::archive_foreign) store_.become({});
    if (discord.kind == Discord::Kind::journal_behind) {
      const auto rest = ledger_->finished_after(ledger_->counters().archived_up_to, 1000);
      if (const auto ok = store_.insert(rest); !ok) return violate("what the ledger has is refused");
      for (const auto& each : rest) archived_.insert(each->task.id);
      apply(archive::numbers_above(*store_.seal()));
      must(store_.keep_note(archive::k_note_position, std::to_string(position_)).has_value(), "a note is refused");
    }
    must(store_.record_loss(discord.loss(now_)).has_value(), "a loss is not recorded");
    must(store_.keep_note(archive::k_note_folder, "ours").has_value(), "a note is refused");
    is_there_ = true;
    older_.clear();
    // What is not there now was accepted as lost.
    const auto image = store_.image();
    std::set<TaskId> there;
    for (const auto& [number, each] : image.tasks) there.insert(each->task.id);
    std::erase_if(archived_, [&](const TaskId& id) { return !there.contains(id); });
    if (const auto again = compare()) violate("what was accepted is refused again: " + again->describe("data"));
  }

  // A row was assigned, by the right clock, in the moment in which it finished.
  void retain() {
    const auto before = store_.image();
    if (!store_.retain(k_retention, believed_.value_or(0), 1000)) return violate("retention fails");
    const auto after = store_.image();
    for (const auto& [number, each] : before.tasks) {
      if (after.tasks.contains(number)) continue;
      const WallMs age = now_ - each->task.assigned_at;
      if (age < 72 * k_hour) return violate(fmt::format("retention removed a result of {} hours", age / k_hour));
      archived_.erase(each->task.id);
    }
  }

  void check() {
    for (const TaskId id : archived_) {
      const auto found = store_.find(id);
      if (!found || !*found) return violate(fmt::format("the result of task {} is lost", id.low));
      if (ledger::view_of((*found)->result) != result_of(id)) {
        return violate(fmt::format("task {} has the result of another", id.low));
      }
    }
  }

  Random random_;
  std::unique_ptr<ledger::Ledger> ledger_ = std::make_unique<ledger::Ledger>();
  journal::Position position_ = 0;
  MemoryStore store_;
  MemoryStore::Image sealed_;
  std::vector<MemoryStore::Image> older_;  // as it was sealed before
  bool is_there_ = true;
  std::uint64_t last_task_ = 0;
  std::set<TaskId> archived_;  // that the ledger dropped, and nobody wrote off
  std::vector<Moment> moments_;
  WallMs now_ = k_start;
  WallMs jump_ = 0;
  WallMs jump_ends_ = 0;
  archive::AgreedClock clock_;
  std::optional<WallMs> believed_;
  std::optional<std::string> violation_;
};

}  // namespace

std::optional<std::string> tell_archive_story(std::uint64_t seed, std::size_t steps) {
  return ArchiveWalk(seed).run(steps);
}

}  // namespace skein::sim
