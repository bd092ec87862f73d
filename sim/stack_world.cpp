// The node and its parts: how they start, run and end. What is done to them is in stack_story.cpp.
#include "sim/stack_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/stack_agent.hpp"
#include "skein/agent/function_agent.hpp"
#include "skein/archive/agreement.hpp"
#include "skein/runtime/inspect.hpp"
#include "skein/runtime/pause.hpp"

namespace skein::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t k_steps_max = 2'000'000;  // of a story; more is a loop
constexpr std::uint64_t k_luck_salt = 0x7061757365;
constexpr ledger::WallMs k_wall_start = 1'700'000'000'000;

RuntimeOptions seeded(std::uint64_t seed) {
  RuntimeOptions options;
  options.seed = seed;
  return options;
}

// What a function agent runs: as StackAgent, as far as a function can.
agent::FunctionOutcome run_function(StackWorld& world, const std::string& id, Random& random,
                                    const dispatch::Order& order) {
  world.oracle().ordered(id, order);
  const auto bad = [&](double chance) { return !world.is_healed() && random.chance(chance); };
  if (bad(0.04)) throw std::runtime_error(fmt::format("crashed by task {}", order.ref.number));
  if (bad(0.15)) {
    return agent::FunctionFailure{random.chance(0.2) ? ledger::ErrorClass::permanent : ledger::ErrorClass::transient,
                                  fmt::format("{}broken", k_agents_own), std::nullopt};
  }
  auto result = fmt::format("{}:{}:{}", order.ref.number, order.ref.fence, id);
  world.oracle().says(order.ref, result);
  if (random.chance(0.3)) return agent::FunctionResult{ledger::body_of(result)};
  const auto takes = std::chrono::milliseconds(random.below(bad(0.1) ? 8'000 : 50));
  return agent::FunctionLater{takes, ledger::body_of(result)};
}

}  // namespace

StackWorld::StackWorld(std::uint64_t seed, bool trace)
    : random_(seed),
      luck_(seed ^ k_luck_salt),
      stands_still_(luck_.chance(0.5) ? 0.03 : 0),
      is_scarce_(luck_.chance(0.3)),
      is_tracing_(trace),
      disk_(random_.next()),
      store_(random_.next()),
      oracle_(random_.next(), store_),
      runtime_(seeded(random_.next())),
      in_flight_bytes_(pick({2'000, 8'000, 1ULL << 20U})),
      ledger_limits_(make_ledger_limits()),
      fallbacks_(make_fallbacks()),
      options_(make_options()) {
  if (trace) {
    oracle_.note = [this](std::string text) { tell(std::move(text)); };
    disk_.on_point = [this](const std::string& what) { tell("      disk: " + what); };
  }
  oracle_.lease_ms =
      static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
  oracle_.timeout_ms_min =
      static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                      std::min(options_.function_timeout, options_.executor_timeout))
                                      .count());
  crashes_left_ = random_.below(6);
  // Where swarms name each other, tasks must now and then go all the way round.
  if (fallbacks_.size() == 2 && random_.chance(0.5)) failing_ = 0.8;
  const std::size_t agents = 1 + random_.below(4);
  for (std::size_t i = 0; i < agents; ++i) {
    Agent agent;
    agent.id = fmt::format("agent{}", i);
    agent.capabilities = i == 0 || random_.chance(0.5) ? std::vector<std::string>{"a", "b"}
                                                       : std::vector<std::string>{random_.chance(0.5) ? "a" : "b"};
    agent.is_function = random_.chance(0.25);
    agent.is_inside = random_.chance(0.3);
    agents_.push_back(std::move(agent));
  }
  const std::size_t clients = 1 + random_.below(3);
  for (std::size_t i = 0; i < clients; ++i) {
    clients_.push_back(std::make_unique<StackClient>(*this, i, random_.next(), 3 + random_.below(12)));
  }
}

StackWorld::~StackWorld() {
  if (node_) end_node(End::killed);
  runtime_.shutdown();
}

void StackWorld::tell(std::string text) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(runtime_.now().time_since_epoch()).count();
  result_.trace.push_back(fmt::format("{:>10.3f} ms  {}", static_cast<double>(us) / 1000.0, text));
}

ledger::WallMs StackWorld::wall() const {
  // The clock on the wall goes on while the program stands still.
  const Duration since = runtime_.now().time_since_epoch() + time_lost(runtime_);
  return k_wall_start +
         static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

std::uint64_t StackWorld::pick(std::initializer_list<std::uint64_t> from) {
  return *(from.begin() + random_.below(from.size()));
}

journal::JournalLimits StackWorld::make_limits() {
  journal::JournalLimits limits;
  limits.sector_bytes = random_.chance(0.8) ? 512 : 4096;
  limits.segment_bytes = pick({16'384, 65'536});
  limits.first_segment_bytes = pick({8'192, 16'384});
  limits.snapshot_bytes = pick({3'000, 10'000, 40'000, 1ULL << 30U});
  limits.spares_kept = random_.below(3);
  limits.in_flight_bytes = in_flight_bytes_;
  limits.in_flight_reserve_bytes = 256ULL << 10U;
  limits.disk_low_water_bytes = pick({0, 20'000});
  limits.ids.id_result_bytes = pick({8, 4'096, 4'096});
  return limits;
}

ledger::Limits StackWorld::make_ledger_limits() {
  ledger::Limits limits;
  limits.swarm_tasks = pick({4, 8, 10'000});
  limits.swarm_bytes = pick({4'000, 1ULL << 30U, 1ULL << 30U});
  limits.open_tasks = pick({6, 12, 1'000'000});
  limits.open_bytes = pick({8'000, 1ULL << 30U, 1ULL << 30U});
  limits.finished_tasks = pick({10, 1'000'000});
  limits.deliveries = pick({2, 10});
  return limits;
}

// One of the two swarms, each other, one that is not there, or none.
std::map<std::string, std::string> StackWorld::make_fallbacks() {
  switch (random_.below(6)) {
    case 0:
      return {{"alpha", "default"}};
    case 1:
      return {{"default", "alpha"}};
    case 2:
    case 3:
      return {{"alpha", "default"}, {"default", "alpha"}};
    case 4:
      return {{"default", "nowhere"}, {"alpha", "default"}};
    default:
      return {};
  }
}

dispatch::DispatcherOptions StackWorld::make_options() {
  dispatch::DispatcherOptions options;
  options.lease = std::chrono::milliseconds(pick({1'000, 2'000, 6'000}));
  options.silent_after = std::chrono::milliseconds(pick({1'500, 5'000}));
  options.function_timeout = std::chrono::milliseconds(pick({1'000, 3'000}));
  options.executor_timeout = std::chrono::milliseconds(pick({1'500, 5'000, 9'000}));
  options.age_step = std::chrono::milliseconds(pick({1'500, 5'000}));
  options.breaker_crashes = static_cast<std::uint32_t>(pick({1, 2, 5}));
  options.breaker_warning = 1;
  options.breaker_open = std::chrono::milliseconds(pick({500, 3'000}));
  options.resync_after = std::chrono::milliseconds(pick({500, 2'000}));
  options.appends_in_flight = pick({2, 8});
  options.ops_per_command = pick({1, 3, 10'000});
  // What it appends at once must fit into the journal; a gate may try more.
  options.command_bytes = options.append_bytes = in_flight_bytes_ / 8;
  options.inbox_changes = pick({5, 1'000'000, 1'000'000});
  options.strategy = static_cast<Balance>(random_.below(k_balances));
  options.adaptive_retry = random_.chance(0.3);
  options.agent_wait = std::chrono::milliseconds(pick({500, 4'000}));
  return options;
}

void StackWorld::run_until(Instant until, std::uint64_t steps_max) {
  for (std::uint64_t i = 0; i < steps_max && !violated();) {
    if (node_ && node_->journal->is_dead()) end_node(is_cut_ && random_.chance(0.5) ? End::power_cut : End::killed);
    if (node_ && is_cut_) end_node(random_.chance(0.5) ? End::power_cut : End::killed);
    if (++steps_ > k_steps_max) return oracle_.violated("the story does not come to an end");
    if (runtime_.step()) {
      ++i;
    } else if (!inspect::pass_time(runtime_, until)) {
      if (runtime_.now() < until) inspect::set_now(runtime_, until);
      return;
    }
  }
}

// Whatever is down and is to be up again by now.
void StackWorld::keep_alive() {
  const Instant now = runtime_.now();
  if (!node_ && now >= start_at_ && !violated()) start_node();
  if (node_ && !is_dying() && !runtime_.is_alive(node_->dispatcher)) {
    if (node_->dispatcher && !node_->may_end && !node_->journal->core().stopped()) {
      return oracle_.violated("the dispatcher has ended by itself");
    }
    if (node_->dispatcher_at <= now) start_dispatcher();
  }
  for (auto& agent : agents_) {
    if (runtime_.is_alive(agent.pid)) continue;
    if (agent.pid) {
      agent.pid = Pid{};
      agent.start_at = now + std::chrono::milliseconds(is_healed_ ? 1 : random_.below(2'000));
    }
    if (now >= agent.start_at) start_agent(agent);
  }
}

void StackWorld::start_agent(Agent& agent) {
  if (agent.is_function) {
    auto options = std::make_unique<agent::FunctionAgentOptions>();
    options->name = agent.id;
    options->capabilities = agent.capabilities;
    options->prefetch = static_cast<std::uint32_t>(random_.below(4));
    options->function = [this, id = agent.id, random = std::make_shared<Random>(random_.next())](const auto& order) {
      return run_function(*this, id, *random, order);
    };
    agent.pid = runtime_.spawn<agent::Agent>(agent::agent_setup(std::move(options)));
  } else {
    agent.pid = runtime_.spawn<StackAgent>(this, agent.id, agent.capabilities, random_.next());
  }
  note([&] { return fmt::format("{} starts{}", agent.id, agent.is_function ? ", a function agent" : ""); });
}

void StackWorld::arm_disk() {
  if (is_healed_) return;
  const std::uint64_t what = random_.below(5);
  if (what == 0) disk_.cut_power_at(1 + random_.below(pick({15, 60, 300, 1'000})));
  if (what == 1) {
    disk_.fail_at(1 + random_.below(pick({15, 60, 300, 1'000})),
                  random_.chance(0.25) ? journal::DiskError::Code::no_space : journal::DiskError::Code::io);
  }
}

void StackWorld::start_node() {
  ++life_;
  oracle_.count("starts of the node");
  note([&] { return fmt::format("the node starts, life {}", life_); });
  arm_disk();
  journal_limits_ = make_limits();
  auto node = std::make_unique<Node>();
  node->ledger = std::make_unique<WatchedLedger>(oracle_);
  node->journal = std::make_unique<StackJournal>(runtime_, disk_, random_.next());
  node_ = std::move(node);
  is_cut_ = false;
  try {
    if (const auto ok = node_->journal->open(*node_->ledger, journal_limits_); !ok) {
      const auto kind = ok.error().kind;
      note([&] { return "  does not start: " + ok.error().describe(); });
      if (is_healed_ || (kind != journal::StoreError::Kind::io && !ok.error().is_harmless())) {
        oracle_.violated("an undamaged journal does not open: " + ok.error().describe());
      }
      oracle_.count("starts that failed");
      return end_node(End::power_cut);
    }
  } catch (const PowerCut&) {
    oracle_.count("starts that failed");
    return end_node(random_.chance(0.5) ? End::power_cut : End::killed);
  }
  oracle_.opened(node_->journal->core().replica().position(), node_->ledger->real);
  if (!goes_with_archive()) return end_node(End::killed);
  start_parts();
}

// As a node does before it takes a task. One that was refused is mended: somebody puts the file back.
bool StackWorld::goes_with_archive() {
  const auto counters = node_->ledger->real.counters();
  archive::ArchiveSide side;
  side.is_there = store_.is_there();
  side.marks = *store_.marks();
  side.counted = *store_.count();
  side.folder = *store_.note(archive::k_note_folder);
  if (const auto position = *store_.note(archive::k_note_position); !position.empty()) {
    side.position = std::stoull(position);
  }
  const auto position = node_->journal->core().replica().position();
  const auto discord = archive::compare({counters.archived_up_to, counters.last_finished, position, "ours"}, side);
  if (!put_back_) {
    if (discord) oracle_.violated("a whole archive is refused: " + discord->describe("data"));
    return !discord;
  }
  if (!discord) {
    oracle_.violated("nobody notices that the archive was harmed");
    return false;
  }
  note([&] { return "  does not start: " + discord->describe("data"); });
  oracle_.count("starts refused for a harmed archive");
  oracle_.archive_is_harmed(nullptr);
  store_.exchange(std::move(*put_back_), true);
  put_back_.reset();
  return false;
}

// While the node is down: the file is deleted, exchanged, or as it was before.
void StackWorld::harm_archive() {
  if (is_healed_ || put_back_ || !random_.chance(0.2)) return;
  auto image = store_.inner().image();
  // Only what the ledger dropped is missing then.
  if (account_of_archived() == 0) return;
  put_back_ = image;
  oracle_.archive_is_harmed(&*put_back_);
  archive::MemoryStore::Image harmed;
  switch (random_.below(3)) {
    case 0:
      return store_.exchange({}, false);
    case 1:
      harmed = image;
      harmed.notes[std::string(archive::k_note_folder)] = "another";
      return store_.exchange(std::move(harmed), true);
    default:
      harmed = image;
      harmed.tasks.erase(std::prev(harmed.tasks.end()));
      return store_.exchange(std::move(harmed), true);
  }
}

std::uint64_t StackWorld::account_of_archived() const {
  return static_cast<std::uint64_t>(std::count_if(oracle_.account().tasks().begin(), oracle_.account().tasks().end(),
                                                  [](const auto& each) { return each.second.is_archived; }));
}

void StackWorld::start_parts() {
  Node& node = *node_;
  node.journal->on_death = [this](bool is_power_cut) {
    if (is_power_cut) is_cut_ = true;
    oracle_.count(is_power_cut ? "power cuts inside a disk operation" : "nodes ended by a failed disk");
  };
  node.journal->on_doubt = [this] { oracle_.count("answers of the journal lost"); };
  const auto now = [this] { return wall(); };
  node.timers = std::make_unique<StackJobs>(runtime_, random_.next(), 200, now);
  node.reads = std::make_unique<StackJobs>(runtime_, random_.next(), 5'000, now);
  for (auto* jobs : {node.timers.get(), node.reads.get()}) {
    jobs->on_power_cut = [this] {
      is_cut_ = true;
      oracle_.count("power cuts inside an insert of the archive");
    };
  }
  operations::OperationsLimits limits;
  limits.gate.gather_ops = pick({1, 250});
  // Otherwise it may gather more than the journal takes at once.
  if (limits.gate.gather_ops == 1) limits.gate.command_bytes = journal_limits_.in_flight_bytes / 2;
  limits.gate.unknown_after = std::chrono::milliseconds(pick({20, 10'000}));
  node.ops = operations::Operations::start(
      {*node.journal, node.ledger->real, &store_, *node.timers, *node.reads, random_.next()}, limits);
  start_archiver();
  start_dispatcher();
  if (!violated()) {
    node.ops->set_limits(ledger_limits_, [](const auto&) {});
    declare_swarms();
  }
}

// As a config does it, which may make circles of what is there already.
void StackWorld::declare_swarms() {
  for (const std::string name : {"alpha", "default"}) {
    ledger::Fields fields;
    if (name == "alpha") fields["open_tasks"] = "5";
    if (const auto at = fallbacks_.find(name); at != fallbacks_.end()) fields["fallback"] = at->second;
    if (name == "default" && fields.empty()) continue;
    node_->ops->swarm_declare({name, std::move(fields)}, [](const auto&) {});
  }
}

void StackWorld::start_archiver() {
  archive::ArchiverLimits limits;
  limits.batch_tasks = pick({1, 3, 1'000});
  limits.linger = std::chrono::milliseconds(pick({1, 200}));
  limits.seal_tasks = pick({1, 4, 10'000});
  limits.seal_after = std::chrono::milliseconds(pick({0, 300, 2'000}));
  limits.retry_first = 200ms;
  limits.retry_max = 2'000ms;
  node_->archiver =
      std::make_unique<archive::Archiver>(*node_->journal, node_->ledger->real, store_, *node_->reads, limits);
  node_->archiver->start();
}

void StackWorld::start_dispatcher() {
  // One that was killed may still be on its way out.
  node_->dispatcher = Pid{};
  if (runtime_.whereis(dispatch::k_dispatcher_name)) return;
  auto setup = std::make_unique<dispatch::DispatcherSetup>();
  setup->runtime = &runtime_;
  setup->journal = node_->journal.get();
  setup->ledger = &node_->ledger->real;
  setup->options = options_;
  setup->wall_clock = [this] { return wall(); };
  setup->entropy = [this] { return random_.next(); };
  setup->on_event = [this](const dispatch::DispatchEvent& event) {
    oracle_.count(fmt::format("event {}", name_of(event.kind)));
    note([&] { return fmt::format("    dispatcher: {} {} {}", name_of(event.kind), event.subject, event.detail); });
  };
  SpawnOptions spawn;
  spawn.name = dispatch::k_dispatcher_name;
  node_->may_end = false;
  node_->dispatcher = runtime_.spawn_with<dispatch::Dispatcher>(spawn, std::move(setup));
  note([] { return std::string("a dispatcher starts"); });
}

void StackWorld::close_node() {
  note([] { return std::string("the node is closed gracefully"); });
  Node& node = *node_;
  node.journal->answer_reads_at_once(true);
  runtime_.exit(node.dispatcher, ExitReason::shutdown());
  if (node.ops) node.ops->stop();
  node.archiver.reset();
  node.journal->close();
  if (is_cut_) return end_node(random_.chance(0.5) ? End::power_cut : End::killed);
  end_node(End::closed);
}

void StackWorld::end_node(End how) {
  note([&] {
    return std::string(how == End::closed   ? "the node is gone"
                       : how == End::killed ? "the node is killed"
                                            : "the power goes");
  });
  oracle_.count(how == End::closed ? "nodes closed" : how == End::killed ? "nodes killed" : "power cuts");
  ++life_;
  for (auto& client : clients_) client->lost_node();
  Node& node = *node_;
  node.journal->crash();
  if (node.timers) node.timers->crash();
  if (node.reads) node.reads->crash();
  if (node.dispatcher) runtime_.exit(node.dispatcher, ExitReason::kill());
  if (node.ops && how != End::closed) node.ops->stop();
  node.archiver.reset();
  node.ops.reset();
  if (how == End::power_cut || disk_.dropped_names()) disk_.lose_power();
  if (how == End::power_cut && !put_back_ && random_.chance(0.5)) store_.lose_unsealed();
  harm_archive();
  disk_.cut_power_at(0);
  disk_.fail_at(0, journal::DiskError::Code::io);
  store_.cut_power_at(0);
  for (auto& agent : agents_) {
    if (agent.is_inside && agent.pid) runtime_.exit(agent.pid, ExitReason::kill());
  }
  dead_.push_back(std::move(node_));
  is_cut_ = false;
  start_at_ = runtime_.now() + std::chrono::milliseconds(is_healed_ ? 1 : 1 + random_.below(800));
}

}  // namespace skein::sim
