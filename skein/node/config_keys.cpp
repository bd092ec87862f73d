#include "skein/node/config_keys.hpp"

#include <array>

#include "skein/ledger/swarm_fields.hpp"
#include "skein/node/executor_kinds.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::uint64_t k_second = 1'000;  // in milliseconds, as rules count times
constexpr std::uint64_t k_hour = 3'600 * k_second;
constexpr std::uint64_t k_kib = 1ULL << 10U;
constexpr std::uint64_t k_mib = 1ULL << 20U;
constexpr std::uint64_t k_gib = 1ULL << 30U;
constexpr std::uint64_t k_billion = 1'000'000'000;

constexpr std::array<std::string_view, 2> k_on_stuck{"abort", "wait"};
constexpr std::array<std::string_view, 2> k_auths{"token", "none"};
constexpr std::array<std::string_view, 2> k_log_formats{"text", "json"};
constexpr std::array<std::string_view, 4> k_levels{"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 2> k_outputs{"json", "text"};
constexpr std::array<std::string_view, 3> k_isolations{"auto", "none", "private"};
constexpr std::array<std::string_view, 3> k_roles{"worker", "specialist", "coordinator"};
constexpr std::array<std::string_view, 2> k_agent_fallbacks{"none", "any"};

constexpr Rule count(std::uint64_t min, std::uint64_t max) { return {min, max, false, {}}; }
constexpr Rule bytes(std::uint64_t min, std::uint64_t max) { return {min, max, true, {}}; }
constexpr Rule time(std::uint64_t min_ms, std::uint64_t max_ms) { return {min_ms, max_ms, false, {}}; }
constexpr Rule words(std::span<const std::string_view> known) { return {0, 0, false, known}; }

// A reload takes it over.
template <class S>
constexpr Key<S> live(Key<S> key) {
  key.is_live = true;
  return key;
}
// All of them but one, that agents have from their start.
template <class S, std::size_t k_count>
constexpr std::array<Key<S>, k_count> all_live(std::array<Key<S>, k_count> keys, std::string_view but = {}) {
  for (Key<S>& each : keys) each.is_live = each.name != but;
  return keys;
}

std::span<const std::string_view> kind_names() {
  static const std::vector<std::string_view> k_names = [] {
    std::vector<std::string_view> names;
    for (const ExecutorKind& each : executor_kinds()) names.push_back(each.name);
    return names;
  }();
  return k_names;
}

}  // namespace

template <>
std::span<const Key<NodeSection>> keys_of<NodeSection>() {
  using S = NodeSection;
  static constexpr std::array<Key<S>, 12> k_keys{{
      {"name", [](S& s) -> Place { return &s.name; }},
      {"data", [](S& s) -> Place { return &s.data; }},
      live<S>({"drain", [](S& s) -> Place { return &s.drain; }, time(0, k_hour),
               "what still runs is stopped; its tasks run again after the next start"}),
      {"stuck_limit", [](S& s) -> Place { return &s.stuck_limit; }, time(k_second, k_hour),
       "the process shows as stuck, and on_stuck decides"},
      {"on_stuck", [](S& s) -> Place { return &s.on_stuck; }, words(k_on_stuck)},
      live<S>({"log_level", [](S& s) -> Place { return &s.log_level; }, words(k_levels)}),
      live<S>({"log_format", [](S& s) -> Place { return &s.log_format; }, words(k_log_formats)}),
      {"workers", [](S& s) -> Place { return &s.workers; }, count(0, 1024)},
      {"processes_max", [](S& s) -> Place { return &s.processes_max; }, count(10'000, 16'000'000),
       "no further process: agents and connections are refused"},
      {"blocking_threads", [](S& s) -> Place { return &s.blocking_threads; }, count(2, 1024),
       "further blocking jobs wait for a thread"},
      {"unauthenticated_max", [](S& s) -> Place { return &s.unauthenticated_max; }, count(1, 1'000'000),
       "the oldest connection without a token is closed to make room"},
      {"core_dumps", [](S& s) -> Place { return &s.core_dumps; }},
  }};
  return k_keys;
}

template <>
std::span<const Key<TcpSection>> keys_of<TcpSection>() {
  using S = TcpSection;
  static constexpr std::array<Key<S>, 9> k_keys{{
      {"enabled", [](S& s) -> Place { return &s.enabled; }},
      {"listen", [](S& s) -> Place { return &s.listen; }},
      {"auth", [](S& s) -> Place { return &s.auth; }, words(k_auths)},
      {"connections", [](S& s) -> Place { return &s.connections; }, count(1, 1'000'000),
       "a further client gets an error and is disconnected"},
      {"output_bytes", [](S& s) -> Place { return &s.output_bytes; }, bytes(64 * k_kib, k_gib),
       "a client that does not read its answers is disconnected"},
      {"login", [](S& s) -> Place { return &s.login; }, time(k_second, k_hour),
       "a client that has not sent its token gets an error and is disconnected"},
      {"receive", [](S& s) -> Place { return &s.receive; }, time(k_second, k_hour),
       "a client that has not ended its line gets an error and is disconnected"},
      {"stalled", [](S& s) -> Place { return &s.stalled; }, time(k_second, k_hour),
       "a client that has read nothing of its answers is disconnected"},
      {"idle", [](S& s) -> Place { return &s.idle; }, time(k_second, 24 * k_hour), "an idle connection is closed"},
  }};
  return k_keys;
}

template <>
std::span<const Key<HttpSection>> keys_of<HttpSection>() {
  using S = HttpSection;
  static constexpr std::array<Key<S>, 11> k_keys{{
      {"enabled", [](S& s) -> Place { return &s.enabled; }},
      {"listen", [](S& s) -> Place { return &s.listen; }},
      {"auth", [](S& s) -> Place { return &s.auth; }, words(k_auths)},
      {"hosts", [](S& s) -> Place { return &s.hosts; }},
      {"connections", [](S& s) -> Place { return &s.connections; }, count(1, 1'000'000),
       "a further client is answered 503 and disconnected"},
      {"head_bytes", [](S& s) -> Place { return &s.head_bytes; }, bytes(k_kib, k_mib), "the request is answered 431"},
      {"body_bytes", [](S& s) -> Place { return &s.body_bytes; }, bytes(4 * k_kib, 64 * k_mib),
       "the request is answered 413"},
      {"output_bytes", [](S& s) -> Place { return &s.output_bytes; }, bytes(64 * k_kib, k_gib),
       "a client that does not read its answers is disconnected"},
      {"idle", [](S& s) -> Place { return &s.idle; }, time(k_second, 24 * k_hour),
       "a connection between requests is closed"},
      {"receive", [](S& s) -> Place { return &s.receive; }, time(k_second, k_hour),
       "a request that has not come whole is answered 408"},
      {"stalled", [](S& s) -> Place { return &s.stalled; }, time(k_second, k_hour),
       "a client that has read nothing of its answer is disconnected"},
  }};
  return k_keys;
}

template <>
std::span<const Key<control::SocketLimits>> keys_of<control::SocketLimits>() {
  using S = control::SocketLimits;
  static constexpr std::array<Key<S>, 6> k_keys{{
      {"connections", [](S& s) -> Place { return &s.connections; }, count(1, 100'000),
       "a further client gets an error and is disconnected"},
      {"line_bytes", [](S& s) -> Place { return &s.line_bytes; }, bytes(4 * k_kib, 64 * k_mib),
       "the client gets an error and is disconnected"},
      {"depth", [](S& s) -> Place { return &s.depth; }, count(8, 256), "the message is refused"},
      {"requests", [](S& s) -> Place { return &s.requests; }, count(1, 1'000'000),
       "nothing more is read from the client until one is answered"},
      {"output_bytes", [](S& s) -> Place { return &s.output_bytes; }, bytes(64 * k_kib, k_gib),
       "a client that does not read its answers is disconnected"},
      {"idle", [](S& s) -> Place { return &s.idle; }, time(k_second, 24 * k_hour), "the connection is closed"},
  }};
  return k_keys;
}

template <>
std::span<const Key<operations::OperationsLimits>> keys_of<operations::OperationsLimits>() {
  using S = operations::OperationsLimits;
  static constexpr std::array<Key<S>, 9> k_keys{{
      {"wait_max", [](S& s) -> Place { return &s.wait_max; }, time(100, k_hour),
       "the wait is answered with the task as it stands; clients wait again"},
      {"waiters", [](S& s) -> Place { return &s.waiters; }, count(1, 10'000'000),
       "a further wait is refused with overloaded"},
      {"page_max", [](S& s) -> Place { return &s.page_max; }, count(1, archive::k_page_max),
       "the answer has a cursor for the rest"},
      {"params_depth", [](S& s) -> Place { return &s.params_depth; }, count(1, 512),
       "the submit is refused with invalid_json"},
      {"queued_ops", [](S& s) -> Place { return &s.gate.queued_ops; }, count(100, 10'000'000),
       "a further submit is refused with overloaded"},
      {"queued_bytes", [](S& s) -> Place { return &s.gate.queued_bytes; }, bytes(k_mib, 16 * k_gib),
       "a further submit is refused with overloaded"},
      {"events_kept", [](S& s) -> Place { return &s.events.kept; }, count(100, 10'000'000),
       "a slower reader is told how many it missed"},
      {"events_bytes", [](S& s) -> Place { return &s.events.kept_bytes; }, bytes(k_mib, 16 * k_gib),
       "a slower reader is told how many it missed"},
      {"subscribers", [](S& s) -> Place { return &s.events.subscribers; }, count(1, 100'000),
       "a further reader is refused with overloaded"},
  }};
  return k_keys;
}

template <>
std::span<const Key<ledger::Limits>> keys_of<ledger::Limits>() {
  using S = ledger::Limits;
  static constexpr std::string_view k_too_large = "the submit is refused with too_large";
  static constexpr auto k_keys = all_live(
      std::array<Key<S>, 17>{{
          {"open_tasks", [](S& s) -> Place { return &s.open_tasks; }, count(1, k_billion),
           "a submit is refused with ledger_full"},
          {"open_bytes", [](S& s) -> Place { return &s.open_bytes; }, bytes(k_mib, 1024 * k_gib),
           "a submit is refused with ledger_full"},
          {"swarm_tasks", [](S& s) -> Place { return &s.swarm_tasks; }, count(1, k_billion),
           "a submit is refused with queue_full"},
          {"swarm_bytes", [](S& s) -> Place { return &s.swarm_bytes; }, bytes(k_mib, 1024 * k_gib),
           "a submit is refused with queue_full"},
          {"finished_tasks", [](S& s) -> Place { return &s.finished_tasks; }, count(1'000, k_billion),
           "a submit is refused with archive_behind; completions never are"},
          {"finished_bytes", [](S& s) -> Place { return &s.finished_bytes; }, bytes(k_mib, 1024 * k_gib),
           "a submit is refused with archive_behind; completions never are"},
          {"params_bytes", [](S& s) -> Place { return &s.params_bytes; }, bytes(k_kib, 384 * k_kib), k_too_large},
          {"result_bytes", [](S& s) -> Place { return &s.result_bytes; }, bytes(k_kib, 384 * k_kib),
           "the attempt fails with a permanent error"},
          {"name_bytes", [](S& s) -> Place { return &s.name_bytes; }, count(16, 256), k_too_large},
          {"key_bytes", [](S& s) -> Place { return &s.key_bytes; }, count(64, 4'096), k_too_large},
          {"capabilities", [](S& s) -> Place { return &s.capabilities; }, count(1, 32), k_too_large},
          {"dependencies", [](S& s) -> Place { return &s.dependencies; }, count(0, 10'000), k_too_large},
          {"attempts", [](S& s) -> Place { return &s.attempts; }, count(1, 10'000), k_too_large},
          {"deliveries", [](S& s) -> Place { return &s.deliveries; }, count(1, 10'000),
           "further crashes of the node cost an attempt"},
          {"keys", [](S& s) -> Place { return &s.keys; }, count(1, k_billion), "the oldest key is forgotten"},
          {"swarms", [](S& s) -> Place { return &s.swarms; }, count(1, 1'000'000), "a further swarm is refused"},
          {"agents", [](S& s) -> Place { return &s.agents; }, count(1, 1'000'000), "a further named agent is refused"},
      }},
      "result_bytes");
  return k_keys;
}

template <>
std::span<const Key<journal::JournalLimits>> keys_of<journal::JournalLimits>() {
  using S = journal::JournalLimits;
  static constexpr std::array<Key<S>, 5> k_keys{{
      {"in_flight_bytes", [](S& s) -> Place { return &s.in_flight_bytes; }, bytes(8 * k_mib, 16 * k_gib),
       "an append is refused with overloaded; completions have 16MiB more"},
      {"disk_low_water_bytes", [](S& s) -> Place { return &s.disk_low_water_bytes; }, bytes(0, 1024 * k_gib),
       "only completions are accepted, submits refused with overloaded"},
      {"snapshot_bytes", [](S& s) -> Place { return &s.snapshot_bytes; }, bytes(k_mib, 64 * k_gib),
       "a snapshot is taken and the log before it dropped"},
      {"segment_bytes", [](S& s) -> Place { return &s.segment_bytes; }, bytes(k_mib, k_gib),
       "the log goes on in the next file"},
      {"reads_waiting", [](S& s) -> Place { return &s.reads_waiting; }, count(100, 10'000'000),
       "a further read is refused with overloaded"},
  }};
  return k_keys;
}

template <>
std::span<const Key<ArchiveSection>> keys_of<ArchiveSection>() {
  using S = ArchiveSection;
  static constexpr std::array<Key<S>, 9> k_keys{{
      {"enabled", [](S& s) -> Place { return &s.enabled; }},
      {"keep", [](S& s) -> Place { return &s.limits.retention.age; }, time(0, 100'000 * k_hour),
       "older tasks are removed for good"},
      {"tasks", [](S& s) -> Place { return &s.limits.retention.tasks; }, count(0, 100 * k_billion),
       "the tasks that finished first are removed for good"},
      {"linger", [](S& s) -> Place { return &s.limits.linger; }, time(1, k_hour), "the batch is written as it is"},
      {"batch_tasks", [](S& s) -> Place { return &s.limits.batch_tasks; }, count(1, 100'000),
       "the rest goes into the next transaction"},
      {"seal_tasks", [](S& s) -> Place { return &s.limits.seal_tasks; }, count(1, 1'000'000),
       "what was written is synced, read back, and leaves the ledger"},
      {"seal_after", [](S& s) -> Place { return &s.limits.seal_after; }, time(0, k_hour),
       "what was written is synced, read back, and leaves the ledger"},
      {"verify_rate", [](S& s) -> Place { return &s.limits.verify_rate; }, count(0, 1'000'000),
       "the rest is verified in the next second; 0 verifies nothing"},
      {"verify_every", [](S& s) -> Place { return &s.limits.verify_every; }, time(k_second, 10'000 * k_hour),
       "all of it is verified again"},
  }};
  return k_keys;
}

template <>
std::span<const Key<dispatch::DispatcherOptions>> keys_of<dispatch::DispatcherOptions>() {
  using S = dispatch::DispatcherOptions;
  static constexpr std::string_view k_attempt = "the attempt fails with a timeout and the work is stopped";
  static constexpr auto k_keys = all_live(
      std::array<Key<S>, 25>{{
          {"lease", [](S& s) -> Place { return &s.lease; }, time(k_second, 24 * k_hour),
           "the tasks of an agent that was silent for this time go to other agents"},
          {"routing_timeout", [](S& s) -> Place { return &s.routing_timeout; }, time(100, k_hour),
           "an event says that no agent is free; the task stays queued"},
          {"silent_after", [](S& s) -> Place { return &s.silent_after; }, time(k_second, k_hour),
           "the agent gets no new tasks until it is heard again"},
          {"function_timeout", [](S& s) -> Place { return &s.function_timeout; }, time(100, 24 * k_hour), k_attempt},
          {"executor_timeout", [](S& s) -> Place { return &s.executor_timeout; }, time(100, 1'000 * k_hour), k_attempt},
          {"timeout_minimum", [](S& s) -> Place { return &s.timeout_minimum; }, time(1, k_hour),
           "a shorter timeout becomes this"},
          {"adaptive_retry", [](S& s) -> Place { return &s.adaptive_retry; }},
          {"learned_every", [](S& s) -> Place { return &s.learned_every; }, time(k_second, 24 * k_hour),
           "what was learned since is written to the file `learned`"},
          {"agent_fallback", [](S& s) -> Place { return &s.agent_fallback; }, words(k_agent_fallbacks)},
          {"agent_wait", [](S& s) -> Place { return &s.agent_wait; }, time(1, 1'000 * k_hour),
           "a task for one agent that may fall back goes to any agent"},
          {"age_step", [](S& s) -> Place { return &s.age_step; }, time(k_second, 1'000 * k_hour),
           "the task rises by a class of priority, up to high"},
          {"age_runs", [](S& s) -> Place { return &s.age_runs; }, count(0, 1'000'000),
           "the task rises after so many usual runs of its type, if that is later"},
          {"take_back_after", [](S& s) -> Place { return &s.return_after; }, time(100, k_hour),
           "what waits at an agent behind a run goes to an idle one"},
          {"yield_wait", [](S& s) -> Place { return &s.yield_wait; }, time(100, k_hour),
           "the next run is asked to make way for a critical task"},
          {"agent_failures", [](S& s) -> Place { return &s.router.breaker.failure_threshold; }, count(1, 1'000'000),
           "an agent with so many failures in a row gets no tasks for agent_reset"},
          {"agent_reset", [](S& s) -> Place { return &s.router.breaker.reset_timeout; }, time(k_second, 24 * k_hour),
           "the agent is tried again"},
          {"permanent_failures", [](S& s) -> Place { return &s.router.permanent_failures; }, count(1, 1'000'000),
           "an agent alone with so many in a row gets no tasks for agent_reset"},
          {"health_floor", [](S& s) -> Place { return &s.router.health_floor; }, count(0, 1),
           "an agent below it gets a task only when no healthy one is idle"},
          {"health_reset", [](S& s) -> Place { return &s.router.health_reset; }, time(k_second, 24 * k_hour),
           "the figures of an agent below health_floor are forgotten"},
          {"breaker_window", [](S& s) -> Place { return &s.breaker_window; }, time(k_second, 1'000 * k_hour),
           "an older crash does not count for the breaker of its swarm and type"},
          {"half_open_interval", [](S& s) -> Place { return &s.half_open_interval; }, time(100, k_hour),
           "a type that is tried out after crashes gives out one task more"},
          {"heartbeat_every", [](S& s) -> Place { return &s.heartbeat_every; }, time(100, 60 * k_second),
           "an agent says that it lives, and what it holds"},
          {"phi_threshold", [](S& s) -> Place { return &s.phi_threshold; }, count(1, 100),
           "an agent whose silence is so unlikely gets no new tasks"},
          {"keys_kept", [](S& s) -> Place { return &s.keys_kept; }, time(k_second, 100'000 * k_hour),
           "the idempotency key is forgotten"},
          {"agents_max", [](S& s) -> Place { return &s.agents_max; }, count(1, 1'000'000),
           "a further agent gets no work and says so"},
      }},
      "heartbeat_every");
  return k_keys;
}

template <>
std::span<const Key<ExecutorConfig>> keys_of<ExecutorConfig>() {
  using S = ExecutorConfig;
  static const auto k_keys = all_live(std::array<Key<S>, 26>{{
      {"kind", [](S& s) -> Place { return &s.kind; }, words(kind_names())},
      {"functions", [](S& s) -> Place { return &s.functions; }},
      {"command", [](S& s) -> Place { return &s.command; }},
      {"directory", [](S& s) -> Place { return &s.directory; }},
      {"env", [](S& s) -> Place { return &s.env; }},
      {"timeout", [](S& s) -> Place { return &s.timeout; }, time(0, 1'000 * k_hour),
       "the attempt fails with a timeout and the work is stopped"},
      {"concurrency", [](S& s) -> Place { return &s.concurrency; }, count(0, 100'000),
       "further tasks stay queued until an attempt ends"},
      {"memory_max", [](S& s) -> Place { return &s.memory_max; }, bytes(0, 1024 * k_gib),
       "the OS process gets no more memory; most then end, and the attempt fails"},
      {"cpu_max", [](S& s) -> Place { return &s.cpu_max; }, time(0, 1'000 * k_hour),
       "the OS process is killed, and the attempt fails"},
      {"files_max", [](S& s) -> Place { return &s.files_max; }, count(8, 1'000'000),
       "the OS process cannot open another file"},
      {"file_max", [](S& s) -> Place { return &s.file_max; }, bytes(0, 1024 * k_gib),
       "the OS process gets SIGXFSZ, of which most die: the attempt fails"},
      {"processes_max", [](S& s) -> Place { return &s.processes_max; }, count(0, 1'000'000),
       "the OS process cannot start another, where a control group can see to it"},
      {"output_bytes", [](S& s) -> Place { return &s.output_bytes; }, bytes(k_kib, k_gib),
       "the OS process is killed, and the attempt fails with a permanent error"},
      {"line_bytes", [](S& s) -> Place { return &s.line_bytes; }, bytes(k_kib, k_gib),
       "the OS process is killed, and its task goes to another agent"},
      {"stderr_bytes", [](S& s) -> Place { return &s.stderr_bytes; }, bytes(0, k_gib), "the oldest of it is dropped"},
      {"output", [](S& s) -> Place { return &s.output; }, words(k_outputs)},
      {"term_after", [](S& s) -> Place { return &s.term_after; }, time(0, k_hour),
       "the OS process that was asked to cancel gets SIGTERM"},
      {"kill_after", [](S& s) -> Place { return &s.kill_after; }, time(0, k_hour), "the OS process is killed"},
      {"hello_timeout", [](S& s) -> Place { return &s.hello_timeout; }, time(100, k_hour),
       "the OS process is killed and started again, with backoff"},
      {"heartbeat_timeout", [](S& s) -> Place { return &s.heartbeat_timeout; }, time(0, 24 * k_hour),
       "the OS process is killed, and its task goes to another agent"},
      {"user", [](S& s) -> Place { return &s.user; }},
      {"group", [](S& s) -> Place { return &s.group; }},
      {"no_new_privs", [](S& s) -> Place { return &s.no_new_privs; }},
      {"umask", [](S& s) -> Place { return &s.umask; }},
      {"isolate", [](S& s) -> Place { return &s.isolate; }, words(k_isolations)},
      {"token", [](S& s) -> Place { return &s.token; }},
  }});
  return k_keys;
}

template <>
std::span<const Key<AgentConfig>> keys_of<AgentConfig>() {
  using S = AgentConfig;
  static constexpr auto k_keys = all_live(std::array<Key<S>, 6>{{
      {"id", [](S& s) -> Place { return &s.id; }},
      {"executor", [](S& s) -> Place { return &s.executor; }},
      {"role", [](S& s) -> Place { return &s.role; }, words(k_roles)},
      {"capabilities", [](S& s) -> Place { return &s.capabilities; }},
      {"swarm", [](S& s) -> Place { return &s.swarm; }},
      {"prefetch", [](S& s) -> Place { return &s.prefetch; }, count(0, 100), "further tasks wait in the queue"},
  }});
  return k_keys;
}

// The swarm's own table says all of it.
template <>
std::span<const Key<SwarmConfig>> keys_of<SwarmConfig>() {
  static const std::vector<Key<SwarmConfig>> k_keys = [] {
    std::vector<Key<SwarmConfig>> keys;
    for (const ledger::SwarmField& each : ledger::swarm_fields()) {
      Key<SwarmConfig> key{each.name, nullptr, {each.min, each.max, each.is_bytes, each.words}, each.at_limit, true};
      key.swarm_field = &each;
      keys.push_back(key);
    }
    return keys;
  }();
  return k_keys;
}

}  // namespace skein::inline v0::node
