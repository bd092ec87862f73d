// The registry's workloads. lookup and register_unregister do what ets_lookup and ets_register of
// bench/peers/peer_bench.erl do, with the same counts and names; here every agent is a process of its own.
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/base/random.hpp"
#include "skein/registry/registry.hpp"

namespace skein::bench {
namespace {

constexpr std::uint64_t k_agents = 10'000;
constexpr std::uint64_t k_lookups = 4'000'000;
constexpr std::uint64_t k_registrations = 1'000'000;
constexpr std::uint64_t k_finds = 1'000'000;
constexpr std::uint64_t k_queries = 20'000;

constexpr std::chrono::milliseconds k_pause{1};

struct Named {};

void must(bool holds) {
  if (!holds) throw std::runtime_error("the registry gave a wrong answer");
}

// A registry with `count` agents, each a process; the i-th has the capabilities that `capabilities(i)` returns.
struct Fleet {
  explicit Fleet(std::uint64_t count) : Fleet(count, [](std::uint64_t) { return std::vector<std::string>{}; }) {}
  template <class F>
  Fleet(std::uint64_t count, F capabilities) : shared(std::make_shared<RegistryTable>(runtime)), table(*shared) {
    runtime.spawn<Registry>(shared);
    names.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      names.push_back("agent-" + std::to_string(i));
      pids.push_back(runtime.spawn<Named>());
      must(table.register_agent(names.back(), pids.back(), capabilities(i)).has_value());
    }
    // Until the registry's process monitors them all, it would share the machine with what is measured.
    while (!table.is_settled()) std::this_thread::sleep_for(k_pause);
    for (const Pid pid : pids) {
      while (runtime.mailbox_length(pid) != 0) std::this_thread::sleep_for(k_pause);
    }
  }
  Runtime runtime;
  std::shared_ptr<RegistryTable> shared;
  RegistryTable& table;
  std::vector<std::string> names;
  std::vector<Pid> pids;
};

void look_up(const Fleet& fleet, std::uint64_t lookups) {
  std::uint64_t right = 0;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < lookups; ++i) {
    const auto found = fleet.table.find_agent(fleet.names[at]);
    right += found && *found == fleet.pids[at] ? 1U : 0U;
    if (++at == fleet.names.size()) at = 0;
  }
  must(right == lookups);
}

// Names and Pids lie in memory in the order they are asked for, so that the processor sees them coming: what misses the
// caches is the registry's.
void shuffle(Fleet& fleet) {
  Random random(1);
  for (std::uint64_t i = fleet.names.size() - 1; i > 0; --i) {
    const std::uint64_t other = random.below(i + 1);
    std::swap(fleet.names[i], fleet.names[other]);
    std::swap(fleet.pids[i], fleet.pids[other]);
  }
}

double lookups_among(std::uint64_t agents, bool in_order = true) {
  Fleet fleet(agents);
  if (!in_order) shuffle(fleet);
  look_up(fleet, agents);
  const auto begin = std::chrono::steady_clock::now();
  look_up(fleet, k_lookups);
  return static_cast<double>(k_lookups) / seconds_since(begin);
}

double lookup() { return lookups_among(k_agents); }
double lookup_100() { return lookups_among(100); }
double lookup_1000000() { return lookups_among(1'000'000); }
// Every lookup misses the caches.
double lookup_1000000_random() { return lookups_among(1'000'000, false); }

// The same in batches that wait for memory together.
double lookups_many_among(std::uint64_t agents) {
  Fleet fleet(agents);
  shuffle(fleet);
  constexpr std::uint64_t k_batch = 100;
  std::vector<std::string_view> ids(k_batch);
  std::vector<Pid> found(k_batch);
  std::uint64_t right = 0;
  std::uint64_t at = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_lookups; i += k_batch) {
    for (std::uint64_t each = 0; each < k_batch; ++each) ids[each] = fleet.names[at + each];
    fleet.table.find_agents(ids, found);
    for (std::uint64_t each = 0; each < k_batch; ++each) right += found[each] == fleet.pids[at + each] ? 1U : 0U;
    at = at + k_batch == agents ? 0 : at + k_batch;
  }
  const double seconds = seconds_since(begin);
  must(right == k_lookups);
  return static_cast<double>(k_lookups) / seconds;
}

double lookup_many_100() { return lookups_many_among(100); }
double lookup_many_1000000_random() { return lookups_many_among(1'000'000); }

// What a miss costs here: reads anywhere in the memory that the index of 1,000,000 agents takes, each of which has to
// wait for the one before. As the index it is asked to be of huge pages.
double memory_miss() {
  constexpr std::size_t k_lines = std::size_t{2} << 20U;
  detail::PlaceArray array(k_lines);
  for (std::size_t i = 0; i < k_lines; ++i) array.at(i).ref.store(i * 2, std::memory_order_relaxed);
  constexpr std::uint64_t k_status_reads = 2'000'000;
  std::uint64_t at = 1;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_status_reads; ++i) {
    // What is read is even, so it changes nothing, but the processor cannot know.
    at = at * 6364136223846793005ULL + 1442695040888963407ULL +
         (array.at(static_cast<std::size_t>(at >> 33U)).ref.load(std::memory_order_relaxed) & 1U);
  }
  const double seconds = seconds_since(begin);
  must(at != 0);
  return static_cast<double>(k_status_reads) / seconds;
}

double lookup_2_threads() {
  const Fleet fleet(k_agents);
  const auto begin = std::chrono::steady_clock::now();
  std::thread other([&] { look_up(fleet, k_lookups); });
  look_up(fleet, k_lookups);
  other.join();
  return 2.0 * static_cast<double>(k_lookups) / seconds_since(begin);
}

double register_unregister() {
  Fleet fleet(1);
  std::vector<std::string> names;
  names.reserve(k_agents);
  for (std::uint64_t i = 0; i < k_agents; ++i) names.push_back("worker-" + std::to_string(i));
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_registrations; ++i) {
    const std::string& name = names[i % k_agents];
    must(fleet.table.register_agent(name, fleet.pids[0]).has_value());
    must(fleet.table.unregister_agent(name).has_value());
  }
  return static_cast<double>(k_registrations) / seconds_since(begin);
}

// Ten of 100,000 agents have the capability; the first of them is asked for.
double find_by_capability() {
  const Fleet fleet(100'000,
                    [](std::uint64_t i) { return std::vector<std::string>{i % 10'000 == 0 ? "rare" : "common"}; });
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_finds; ++i) {
    must(fleet.table.find_agents_by_capability("rare", 1).size() == 1);
  }
  return static_cast<double>(k_finds) / seconds_since(begin);
}

// Half of the agents have one capability, one in a hundred the other; the names of those with both.
double query_two() {
  const Fleet fleet(k_agents, [](std::uint64_t i) {
    std::vector<std::string> capabilities;
    if (i % 2 == 0) capabilities.emplace_back("execute");
    if (i % 100 == 0) capabilities.emplace_back("optimize");
    return capabilities;
  });
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_queries; ++i) {
    must(fleet.table.query_agents({"execute", "optimize"})->size() == 100);
  }
  return static_cast<double>(k_queries) / seconds_since(begin);
}

double load_increment() {
  Fleet fleet(k_agents);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_lookups; ++i) {
    must(fleet.table.increment_load(fleet.names[i % k_agents]).has_value());
  }
  const double seconds = seconds_since(begin);
  must(*fleet.table.get_load(fleet.names[0]) == k_lookups / k_agents);
  return static_cast<double>(k_lookups) / seconds;
}

const Registrar k_lookup{{.group = "registry", .name = "lookup", .unit = "lookup/s", .run = lookup}};
const Registrar k_register{
    {.group = "registry", .name = "register_unregister", .unit = "register+unregister/s", .run = register_unregister}};
const Registrar k_find{
    {.group = "registry", .name = "find_by_capability", .unit = "query/s", .run = find_by_capability}};
const Registrar k_query{{.group = "registry", .name = "query_two", .unit = "query/s", .run = query_two}};
const Registrar k_load{{.group = "registry", .name = "load_increment", .unit = "op/s", .run = load_increment}};
const Registrar k_lookup_100{{.group = "registry", .name = "lookup_100", .unit = "lookup/s", .run = lookup_100}};
const Registrar k_lookup_million{
    {.group = "registry", .name = "lookup_1000000", .unit = "lookup/s", .run = lookup_1000000}};
const Registrar k_lookup_random{
    {.group = "registry", .name = "lookup_1000000_random", .unit = "lookup/s", .run = lookup_1000000_random}};
const Registrar k_lookup_many_100{
    {.group = "registry", .name = "lookup_many_100", .unit = "lookup/s", .run = lookup_many_100}};
const Registrar k_lookup_many_random{
    {.group = "registry", .name = "lookup_many_1000000_random", .unit = "lookup/s", .run = lookup_many_1000000_random}};
const Registrar k_memory_miss{{.group = "registry", .name = "memory_miss", .unit = "read/s", .run = memory_miss}};
const Registrar k_lookup_threads{
    {.group = "registry", .name = "lookup_2_threads", .unit = "lookup/s", .run = lookup_2_threads}};

}  // namespace
}  // namespace skein::bench
