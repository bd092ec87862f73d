#include "skein/node/fixed_limits.hpp"

#include <array>

namespace skein::inline v0::node {

std::span<const FixedLimit> fixed_limits() {
  static constexpr auto k_all = std::to_array<FixedLimit>({
      {"mailbox of a process", "runtime::k_mailbox_limit", "1,000,000",
       "the sender is told `full`; signals always get in"},
      {"mailbox of a supervisor", "supervision::k_supervisor_mailbox_limit", "100,000,000",
       "the sender is told `full`"},
      {"a call between processes", "runtime::k_call_timeout", "5 s",
       "the caller gets `timeout`; a late answer is dropped"},
      {"messages of one trace", "runtime::k_trace_limit", "10,000", "the trace ends"},
      {"processes traced at once", "runtime::k_traces_limit", "64", "a further trace is refused"},
      {"restarts a supervisor may be allowed", "supervision::k_intensity_max", "10,000,000", "the spec is refused"},
      {"time a child stays parked", "supervision::k_park_max", "10 min", "it is tried again"},
      {"supervisors within each other in the config", "supervision::k_toml_depth", "32", "the config is refused"},
      {"config file", "supervision::k_toml_bytes", "1 MiB", "it is refused"},
      {"name in the registry", "registry::k_registry_text_max", "255 bytes", "the registration is refused"},
      {"capabilities of an agent in the registry", "registry::k_capabilities_max", "64", "the registration is refused"},
      {"circuit breakers by name", "resilience::k_breakers_max", "100,000", "a further one is refused"},
      {"name of a circuit breaker", "resilience::k_name_bytes_max", "256 bytes", "it is refused"},
      {"calls under way of a circuit breaker", "resilience::k_under_way_max", "100,000",
       "the oldest counts as timed out"},
      {"calls at once of a bulkhead, unless it says otherwise", "resilience::k_limit", "10",
       "a further one is refused"},
      {"retry_after that is obeyed", "resilience::k_retry_after_max", "10 min", "a longer one becomes this"},
      {"operations in one command", "ledger::k_ops_max", "100,000", "the rest goes into the next command"},
      {"tasks aged in one operation", "ledger::k_ages_max", "100,000", "the rest goes into the next one"},
      {"shapes and names that tasks share", "ledger::k_interned_max", "4,096", "they are forgotten; tasks hold copies"},
      {"words of a search", "archive::k_words_max", "16", "further words are passed over"},
      {"tasks in one answer", "archive::k_page_max", "1,000", "the answer has a cursor for the rest"},
      {"tasks an agent may have at once", "dispatch::k_slots_max", "1,000", "it gets no more"},
      {"tasks an agent may say it holds", "dispatch::k_held_max", "16,384", "it is refused, and an event says so"},
      {"message of a failure", "dispatch::k_message_bytes_max", "4,096 bytes", "the rest is cut off"},
      {"id of an agent in the router", "dispatch::k_id_bytes_max", "256 bytes", "the agent is refused"},
      {"capability in the router", "dispatch::k_capability_bytes_max", "256 bytes", "the agent is refused"},
      {"capabilities of an agent in the router", "dispatch::k_agent_capabilities_max", "256", "the agent is refused"},
      {"capabilities a task may require", "dispatch::k_required_max", "32", "it is not routed"},
      {"agents a route may avoid", "dispatch::k_avoid_max", "16", "those that were named first are not avoided"},
      {"what q_learning has learned, as text", "dispatch::k_text_bytes_max", "16 KiB", "it is refused, and says so"},
      {"correlations remembered", "dispatch::k_entries_max", "100,000", "the oldest is forgotten"},
      {"age of a correlation", "dispatch::k_age_max", "1 h", "it is forgotten"},
      {"queues without a task", "dispatch::k_idle_lanes_max", "4,096", "they are forgotten"},
      {"tasks an agent holds ahead", "agent::k_prefetch_max", "100", "a larger number is refused"},
      {"capabilities in a hello", "agent::k_hello_capabilities_max", "64", "the OS process is ended"},
      {"retry_after an agent may ask for", "agent::k_retry_after_ms_max", "24 h", "the message is refused"},
      {"command line and environment of an OS process", "launcher::k_spec_bytes_max", "128 KiB",
       "the start is refused"},
      {"what is still read of an OS process that ended", "launcher::k_last_bytes_max", "1 MiB", "the rest is dropped"},
      {"name of a swarm", "swarm::k_name_bytes_max", "120 bytes", "the definition is refused"},
      {"agents of one swarm", "swarm::k_agents_limit", "100,000", "the definition is refused"},
      {"tasks an agent of a swarm holds ahead", "swarm::k_prefetch_max", "100", "the definition is refused"},
      {"pause before agents that die young are replaced", "swarm::k_hold_back_max", "30 s", "it grows no more"},
      {"streams of one connection", "control::k_streams_max", "16", "a further one is overloaded"},
      {"a client waits for an engine that restarts", "control::k_away_limit", "10 s",
       "it is told that the engine is away"},
      {"failures remembered of a child", "supervision::k_failure_history", "16", "the oldest is forgotten"},
  });
  return k_all;
}

}  // namespace skein::inline v0::node
