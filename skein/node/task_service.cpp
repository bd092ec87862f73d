#include "skein/node/task_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/node/agent_knowledge.hpp"
#include "skein/node/folder.hpp"
#include "skein/node/node_context.hpp"
#include "skein/node/secret_file.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {
namespace {

using operations::ask;
using operations::Operations;
using Nothing = Operations::Nothing;

constexpr Duration k_engine_wait = std::chrono::seconds(30);
constexpr Duration k_engine_look = std::chrono::milliseconds(2);
constexpr Duration k_look_every = std::chrono::milliseconds(50);       // for swarms without a coordinator
constexpr Duration k_withdraw_every = std::chrono::milliseconds(250);  // for swarms that are gone once empty

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

void must(const operations::Result<Nothing>& done, const std::string& what) {
  if (!done) throw std::runtime_error(fmt::format("{}: {}", what, done.error().describe()));
}

}  // namespace

TaskService::TaskService(std::shared_ptr<Engine> engine, const Config& config, std::uint64_t seed, Runtime& runtime,
                         const WorkStart& start)
    : engine_(std::move(engine)) {
  auto opened = open_archive({config.node.data, config.archive.enabled, start.accept_loss, archiving_.wall_now()},
                             *engine_->journal, engine_->ledger);
  if (!opened) throw std::runtime_error(opened.error());
  for (std::string& each : opened->warnings) warnings_.push_back(std::move(each));
  store_ = std::move(opened->store);
  auto limits = config.archive.limits;
  limits.only_when_half_full = !store_;
  archive::Store& store = store_ ? static_cast<archive::Store&>(*store_) : nowhere_;
  news_ = std::make_shared<News>();
  news_->log = start.log;
  if (store_) {
    store_->on_damage([news = news_](const archive::ArchiveError& error) {
      news->tell({archive::ArchiverNews::Kind::damaged, error.describe(), 0});
    });
  }
  archiver_ =
      std::make_unique<archive::Archiver>(*engine_->journal, engine_->ledger, store, archiving_, limits,
                                          [news = news_](const archive::ArchiverNews& each) { news->tell(each); });
  std::vector<std::string> executors;
  executors.reserve(config.executors.size());
  for (const auto& [name, each] : config.executors) executors.push_back(name);
  operations_ = Operations::start({.journal = *engine_->journal,
                                   .ledger = engine_->ledger,
                                   .archive = store_.get(),
                                   .timers = timers_,
                                   .reads = reads_,
                                   .seed = seed,
                                   .runtime = &runtime,
                                   .executors = std::move(executors),
                                   .archiver = [this] { return archiver_->status(); },
                                   .access = start.access,
                                   .keep_first = start.keep_first},
                                  config.operations);
  {
    const std::scoped_lock lock(news_->mutex);
    news_->events = &operations_->events();
  }
  for (const std::string& each : warnings_) {
    operations::Event event;
    event.kind = operations::Event::Kind::archive;
    event.message = each;
    operations_->events().publish(std::move(event));
  }
  archiver_->start();
}

void TaskService::News::tell(const archive::ArchiverNews& news) {
  const std::scoped_lock lock(mutex);
  if (log) log(archive::is_bad(news.kind), news.text);
  if (events == nullptr) return;
  operations::Event event;
  event.kind = operations::Event::Kind::archive;
  event.message = news.text;
  event.number = news.number;
  events->publish(std::move(event));
}

TaskService::~TaskService() {
  {
    const std::scoped_lock lock(news_->mutex);
    news_->events = nullptr;
    news_->log = nullptr;
  }
  operations_->stop();
  archiver_->stop();
  timers_.stop();
  reads_.stop();
  archiving_.stop();
}

std::vector<std::string> TaskService::declare(const Config& config) {
  std::vector<std::string> changed;
  std::vector<std::string> declared;
  declared.reserve(config.swarms.size());
  for (const auto& [name, swarm] : config.swarms) declared.push_back(name);
  operations_->know_config_swarms(std::move(declared));
  const auto status = ask<operations::NodeStatus>([&](auto reply) { operations_->status(std::move(reply)); });
  if (!status) throw std::runtime_error(status.error().describe());
  if (status->limits != config.limits) {
    must(ask<Nothing>([&](auto reply) { operations_->set_limits(config.limits, std::move(reply)); }), "[limits]");
    changed.emplace_back("limits");
  }
  const auto swarms =
      ask<std::vector<operations::SwarmView>>([&](auto reply) { operations_->swarm_list(std::move(reply)); });
  if (!swarms) throw std::runtime_error(swarms.error().describe());
  for (const auto& [name, swarm] : config.swarms) {
    const auto fields = ledger::fields_of(swarm);
    const auto there = std::ranges::find(*swarms, name, &ledger::Swarm::name);
    const bool is_same = there != swarms->end() && there->origin == ledger::Origin::config &&
                         there->definition == fields && there->state != ledger::SwarmState::removed;
    if (is_same) continue;
    must(ask<Nothing>([&](auto reply) { operations_->swarm_declare({name, fields}, std::move(reply)); }),
         fmt::format("swarm '{}'", name));
    changed.push_back(fmt::format("swarm '{}'", name));
  }
  return changed;
}

std::vector<std::string> TaskService::withdraw(const Config& config, Told which) {
  std::vector<std::string> changed;
  const auto swarms =
      ask<std::vector<operations::SwarmView>>([&](auto reply) { operations_->swarm_list(std::move(reply)); });
  if (!swarms) throw std::runtime_error(swarms.error().describe());
  for (const auto& swarm : *swarms) {
    if (swarm.origin != ledger::Origin::config || config.swarms.contains(swarm.name)) continue;
    // Each look would be an entry of the journal and an event, and the event the next look.
    if (swarm.state == ledger::SwarmState::removed && swarm.open_tasks > 0) continue;
    // 'removed' would give out tasks that somebody holds back.
    const bool is_held = swarm.state == ledger::SwarmState::paused || swarm.state == ledger::SwarmState::stopped;
    if (is_held && swarm.open_tasks > 0 && swarm.name != k_default_swarm) {
      // A paused one would take new tasks.
      if (swarm.state == ledger::SwarmState::paused) {
        const auto stopped = ask<Nothing>([&](auto reply) { operations_->swarm_stop(swarm.name, std::move(reply)); });
        if (!stopped) throw std::runtime_error(fmt::format("swarm '{}': {}", swarm.name, stopped.error().describe()));
      }
      const std::string kept = fmt::format(
          "swarm '{0}' is no longer in the config: it is stopped, accepts no tasks and keeps its {1} open tasks on "
          "hold; 'skein swarm resume {0}' runs them, then the swarm is removed",
          swarm.name, swarm.open_tasks);
      if (which == Told::all) changed.push_back(kept);
      continue;
    }
    const auto gone = ask<bool>([&](auto reply) { operations_->swarm_withdraw(swarm.name, std::move(reply)); });
    // A ledger of before is raised by the dispatcher, which may have yet to start: tried again at the next look.
    if (!gone && gone.error().code == operations::Code::overloaded) continue;
    if (!gone) throw std::runtime_error(fmt::format("swarm '{}': {}", swarm.name, gone.error().describe()));
    if (*gone && swarm.name == k_default_swarm) {
      changed.push_back(
          fmt::format("swarm '{}' no longer has an executor; it still takes the tasks that name no swarm", swarm.name));
    } else if (*gone) {
      changed.push_back(fmt::format("swarm '{}' removed", swarm.name));
    } else if (swarm.state != ledger::SwarmState::removed) {
      changed.push_back(fmt::format("swarm '{}' accepts no tasks and is removed when its {} open tasks have finished",
                                    swarm.name, swarm.open_tasks));
    }
  }
  return changed;
}

std::vector<std::string> TaskService::swarm_names() {
  const auto swarms =
      ask<std::vector<operations::SwarmView>>([&](auto reply) { operations_->swarm_list(std::move(reply)); });
  std::vector<std::string> names;
  if (!swarms) return names;
  for (const auto& each : *swarms) names.push_back(each.name);
  return names;
}

std::vector<std::string> TaskService::drop_overrides() {
  std::vector<std::string> changed;
  const auto swarms =
      ask<std::vector<operations::SwarmView>>([&](auto reply) { operations_->swarm_list(std::move(reply)); });
  if (!swarms) throw std::runtime_error(swarms.error().describe());
  for (const auto& swarm : *swarms) {
    if (swarm.state == ledger::SwarmState::removed) continue;
    // What was created over the API is none of the config's business.
    if (swarm.overrides.empty() || swarm.origin != ledger::Origin::config) continue;
    must(ask<Nothing>([&](auto reply) { operations_->swarm_drop_overrides(swarm.name, std::move(reply)); }),
         fmt::format("swarm '{}'", swarm.name));
    changed.push_back(fmt::format("overrides of swarm '{}' dropped", swarm.name));
  }
  return changed;
}

LedgerService::LedgerService(Self, std::shared_ptr<NodeContext> context) : context_(std::move(context)) {}

Async<Init> LedgerService::init(Self self) {
  const Instant give_up = later(self.now(), k_engine_wait);
  std::shared_ptr<Engine> engine = context_->engine.get();
  while (!engine) {
    if (self.now() >= give_up) co_return Init::stop(ExitReason::custom("the journal engine did not start in time"));
    auto pause = self.sleep(k_engine_look);
    co_await pause;
    engine = context_->engine.get();
  }
  [[maybe_unused]] const MonitorRef watch = self.monitor(engine->owner);
  using Made = std::expected<std::shared_ptr<TaskService>, std::string>;
  auto making = self.blocking([context = context_, engine = std::move(engine)]() mutable -> Made {
    try {
      WorkStart start;
      // Once: what is lost later is another matter.
      start.accept_loss = context->accept_loss.exchange(false);
      start.access = context->access;
      start.keep_first = [path = context->config()->node.data + "/" + k_token_file](const std::string& secret) {
        return write_secret(path, secret);
      };
      start.log = [context](bool is_bad, const std::string& text) {
        context->log(is_bad ? LogLevel::error : LogLevel::info, text);
      };
      auto made =
          std::make_shared<TaskService>(std::move(engine), *context->config(), random_seed(), context->runtime, start);
      for (const std::string& each : made->warnings()) context->log.warning(each);
      made->operations().know_agents(agent_knowledge(context));
      for (const std::string& each : made->declare(*context->config()))
        context->log.info(each + " set from the config");
      for (const std::string& each : made->withdraw(*context->config())) context->log.info(each);
      return made;
    } catch (const std::exception& failure) {
      context->log.error(failure.what());
      return std::unexpected(failure.what());
    }
  });
  Made made = co_await making;
  if (!made) co_return Init::stop(ExitReason::custom(made.error()));
  work_ = std::move(*made);
  operations::EventFilter wanted;
  wanted.kinds = {operations::Event::Kind::swarm_changed, operations::Event::Kind::swarm_removed,
                  operations::Event::Kind::task_failed};
  Runtime* const runtime = &context_->runtime;
  auto changes = work_->operations().events().subscribe(
      wanted, [runtime, me = self.pid()] { runtime->notify(me, SwarmsChanged{}); });
  if (!changes) co_return Init::stop(ExitReason::custom(changes.error().describe()));
  changes_ = std::move(*changes);
  context_->work.set(work_);
  for (auto& each : context_->supervision.take_kept()) work_->operations().events().publish(std::move(each));
  self.send(self.pid(), Look{});
  co_return Init::ok();
}

void LedgerService::take_changes(Self self) {
  for (bool is_more = changes_ != nullptr; is_more;) {
    const operations::EventBatch batch = changes_->take();
    const auto is_of_swarm = [](const operations::Event& each) {
      return each.kind != operations::Event::Kind::task_failed;
    };
    has_changed_ = has_changed_ || batch.missed > 0 || std::ranges::any_of(batch.events, is_of_swarm);
    for (const std::string& line : failure_log_.lines(batch.events, self.now())) context_->log.warning(line);
    is_more = batch.more;
  }
}

// Level-triggered: whatever was missed, or lost with the pool, is put right by the next look.
void LedgerService::look(Self self) {
  self.send_after(k_look_every, self.pid(), Look{});
  take_changes(self);
  if (has_undeclared_ && self.now() >= withdraw_due_) has_changed_ = true;
  const Pid pool = self.whereis(k_swarms_name);
  if (is_asking_ || !pool || (pool == pool_ && !has_changed_)) return;
  is_asking_ = true;
  has_changed_ = false;
  pool_ = pool;
  Runtime* const runtime = &context_->runtime;
  Engine& engine = work_->engine();
  engine.journal->read(journal::Read::local(), [runtime, me = self.pid(), &engine,
                                                config = context_->config()](const journal::ReadAnswer& answer) {
    SwarmsAre are;
    if (answer.outcome == journal::Outcome::applied) {
      for (const ledger::Swarm& each : engine.ledger.swarms()) {
        are.has_undeclared =
            are.has_undeclared || (each.origin == ledger::Origin::config && !config->swarms.contains(each.name));
        if (dispatch::has_own_agents(each) && each.state != ledger::SwarmState::stopped) are.names.push_back(each.name);
      }
    }
    runtime->notify(me, std::move(are));
  });
}

Async<void> LedgerService::start_coordinators(Self self, std::vector<std::string> names) {
  is_asking_ = false;
  for (const std::string& name : names) {
    if (const Pid there = self.whereis(swarm::coordinator_name(name))) {
      watch(self, there);
      continue;
    }
    auto starting = start_pool_child(self, pool_, pool_arguments(name), k_call_timeout);
    const auto started = co_await starting;
    if (started) {
      watch(self, started->pid);
      continue;
    }
    has_changed_ = true;                              // tried again at the next look
    if (self.whereis(k_swarms_name) != pool_) break;  // it was the pool that went
    context_->log.warning(fmt::format("swarm '{}': its coordinator could not be started", name));
  }
}

void LedgerService::watch(Self self, Pid coordinator) {
  if (!coordinator || !watched_.insert(coordinator).second) return;
  [[maybe_unused]] const MonitorRef watch = self.monitor(coordinator);
}

Async<void> LedgerService::handle_info(Self self, Message message) {
  const auto* down = message.get_if<Down>();
  if (down != nullptr && watched_.erase(down->pid) != 0) {
    // One that ends gracefully is not restarted by its pool, and its swarm may have been resumed at that moment.
    has_changed_ = true;
    co_return;
  }
  if (down != nullptr) {
    self.stop(ExitReason::custom("the journal engine ended"));
  } else if (message.is<Look>()) {
    look(self);
  } else if (message.is<SwarmsChanged>()) {
    take_changes(self);
  } else if (auto* are = message.get_if<SwarmsAre>()) {
    has_undeclared_ = are->has_undeclared;
    auto starting = start_coordinators(self, std::move(are->names));
    co_await starting;
    if (!has_undeclared_) co_return;
    auto withdrawing = withdraw_swarms(self);
    co_await withdrawing;
  }
}

// Tasks that end are no change of a swarm, so it is looked again whether the last one has.
Async<void> LedgerService::withdraw_swarms(Self self) {
  withdraw_due_ = later(self.now(), k_withdraw_every);
  auto withdrawing = self.blocking([context = context_, work = work_] {
    try {
      const auto declaring = work->declaring();
      for (const std::string& each : work->withdraw(*context->config(), TaskService::Told::changes))
        context->log.info(each);
    } catch (const std::exception& failure) {
      context->log.warning(failure.what());
    }
  });
  co_await withdrawing;
}

void LedgerService::withdraw() {
  if (!work_) return;
  changes_.reset();
  context_->work.clear(work_.get());
  const std::scoped_lock lock(context_->watchers_mutex);
  for (const Pid each : context_->watchers) context_->runtime.notify(each, operations::OperationsGone{});
  context_->watchers.clear();
}

Async<void> LedgerService::terminate(Self self, ExitReason) {
  withdraw();
  // Its threads are joined: not on a scheduler's.
  auto ending = self.blocking([work = std::move(work_)]() mutable { work.reset(); });
  co_await ending;
}

LedgerService::~LedgerService() { withdraw(); }

std::string LedgerService::describe() const { return work_ ? "serving" : "starting"; }

}  // namespace skein::inline v0::node
