#include "skein/node/engine.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "skein/node/data_lock.hpp"
#include "skein/node/node_context.hpp"

namespace skein::inline v0::node {
namespace {

using journal::JournalEvent;

constexpr Duration k_look_every = std::chrono::seconds(1);
constexpr Duration k_close_wait = std::chrono::seconds(10);  // for the journal of the engine before

std::string journal_folder(const NodeContext& context) { return journal_in(context.config()->node.data); }

}  // namespace

DiskWatch::DiskWatch(Self, std::shared_ptr<NodeContext> context)
    : context_(std::move(context)), folder_(journal_folder(*context_)) {}

Async<Init> DiskWatch::init(Self self) {
  auto making = self.blocking([folder = folder_] {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    return failure;
  });
  const std::error_code error = co_await making;
  if (error) co_return Init::stop(ExitReason::custom(fmt::format("{}: {}", folder_, error.message())));
  look(self);
  co_return Init::ok();
}

void DiskWatch::look(Self self) {
  std::error_code error;
  const auto space = std::filesystem::space(folder_, error);
  self.send_after(k_look_every, self.pid(), Look{});
  if (error) return;
  free_bytes_ = space.available;
  // The journal itself tells when there is less than its low water; this is of a disk that is full without one.
  const auto config = context_->config();
  const bool is_full = config->journal.disk_low_water_bytes == 0 && free_bytes_ < config->journal.first_segment_bytes;
  if (is_full != is_full_) {
    context_->log(
        is_full ? LogLevel::error : LogLevel::info,
        is_full ? fmt::format("the disk of {} is full ({} KiB left): submits wait or are refused until there is room",
                              folder_, free_bytes_ >> 10U)
                : fmt::format("the disk of {} has room again", folder_));
  }
  is_full_ = is_full;
}

void DiskWatch::handle_info(Self self, Message message) {
  if (message.is<Look>()) look(self);
}

std::string DiskWatch::describe() const { return fmt::format("{}: {} MiB free", folder_, free_bytes_ >> 20U); }

JournalEngine::JournalEngine(Self, std::shared_ptr<NodeContext> context) : context_(std::move(context)) {}

Async<Init> JournalEngine::init(Self self) {
  auto engine = std::make_shared<Engine>();
  engine->owner = self.pid();
  // Recovery reads the whole log: far from the scheduler's threads.
  auto opening = self.blocking([context = context_, engine]() -> std::expected<void, std::string> {
    // One that was killed did not close its journal, and its users may hold it a little longer. When none holds it any
    // more, the last one may still be at closing it.
    if (const auto before = context->last_engine.lock()) {
      before->journal->close();
    } else if (context->last_engine_gone.valid()) {
      context->last_engine_gone.wait_for(k_close_wait);
    }
    auto opened = journal::open_journal(journal_folder(*context), engine->ledger, context->config()->journal);
    if (!opened) return std::unexpected(opened.error().describe());
    engine->journal = std::move(*opened);
    return {};
  });
  const auto opened = co_await opening;
  if (!opened) co_return Init::stop(ExitReason::custom(opened.error()));
  engine_ = std::move(engine);
  context_->last_engine = engine_;
  context_->last_engine_gone = engine_->gone.get_future().share();
  Runtime* const runtime = &context_->runtime;
  subscription_ = engine_->journal->subscribe([runtime, me = self.pid()](const JournalEvent& event) {
    if (event.kind == JournalEvent::Kind::stopped) runtime->notify(me, Stopped{event.detail});
    if (event.kind == JournalEvent::Kind::disk_low) runtime->notify(me, DiskRoom{true, event.detail});
    if (event.kind == JournalEvent::Kind::disk_ok) runtime->notify(me, DiskRoom{false});
    if (event.kind == JournalEvent::Kind::snapshot_failed) runtime->notify(me, Snapshot{event.detail});
    if (event.kind == JournalEvent::Kind::snapshot_taken) runtime->notify(me, Snapshot{});
  });
  if (!context_->dead_fence) context_->dead_fence = engine_->ledger.counters().last_fence;
  context_->engine.set(engine_);
  context_->log.info(fmt::format("journal open at position {}, {} open tasks", engine_->journal->status().applied,
                                 engine_->ledger.counters().open_tasks));
  co_return Init::ok();
}

void JournalEngine::log_room(const DiskRoom& room) const {
  const std::string folder = journal_folder(*context_);
  if (!room.is_low) return context_->log.info(fmt::format("the disk of {} has room again", folder));
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  const std::uint64_t free_bytes = error ? 0 : space.available;
  context_->log.error(free_bytes < context_->config()->journal.disk_low_water_bytes
                          ? fmt::format("the disk of {} has {} MiB left: no task is accepted until there is more",
                                        folder, free_bytes >> 20U)
                          : fmt::format("the journal cannot allocate its next segment although the disk has {} MiB "
                                        "left ({}): tasks are refused until it can; look for a quota",
                                        free_bytes >> 20U, room.detail));
}

void JournalEngine::handle_info(Self, Message message) {
  if (const auto* room = message.get_if<DiskRoom>()) {
    log_room(*room);
    return;
  }
  if (const auto* snapshot = message.get_if<Snapshot>()) {
    // Once for each cause: it is tried again and again.
    if (!snapshot->failure.empty() && snapshot->failure != snapshot_failure_) {
      context_->log.error(
          fmt::format("no snapshot of the journal could be taken, so its log grows: {}", snapshot->failure));
    }
    if (snapshot->failure.empty() && !snapshot_failure_.empty()) context_->log.info("snapshots are taken again");
    snapshot_failure_ = snapshot->failure;
    return;
  }
  const auto* stopped = message.get_if<Stopped>();
  if (stopped == nullptr) return;
  context_->log.error(fmt::format("the journal stopped: {}", stopped->why));
  if (context_->on_fatal) context_->on_fatal(stopped->why);
}

Async<void> JournalEngine::terminate(Self self, ExitReason) {
  if (!engine_) co_return;
  engine_->journal->unsubscribe(subscription_);
  context_->engine.clear(engine_.get());
  auto closing = self.blocking([engine = engine_] { engine->journal->close(); });
  co_await closing;
}

JournalEngine::~JournalEngine() {
  if (!engine_) return;
  engine_->journal->unsubscribe(subscription_);
  context_->engine.clear(engine_.get());
}

std::string JournalEngine::describe() const {
  if (!engine_) return "not open";
  const auto status = engine_->journal->status();
  return fmt::format("position {}, snapshot {}, {} bytes in flight", status.applied, status.snapshot,
                     status.in_flight_bytes);
}

}  // namespace skein::inline v0::node
