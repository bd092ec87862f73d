// The runtime's workloads, with the counts that bench/peers/peer_bench.erl uses, so that both can run side by side.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::bench {
namespace {

// Runs `body` in a process and returns what it measured; a failure ends the benchmark with its reason.
template <class... Params, class... Args>
double measure(Runtime& runtime, Async<double> (*body)(Self, Params...), Args... args) {
  auto figure = runtime.run(body, args...);
  if (!figure) throw std::runtime_error(figure.error().text());
  return *figure;
}

struct Ok {};
struct Stop {};

constexpr std::uint64_t k_spawns = 1'000'000;
constexpr std::uint64_t k_spawn_batch = 10'000;

struct SayOk {
  SayOk(Self self, Pid to) {
    self.send(to, Ok{});
    self.stop();
  }
};

// Spawns a batch, waits for an answer of each, then the next batch.
struct SpawnExit {
  std::uint64_t batches = 0;
  std::uint64_t open = 0;
  std::optional<Reply<void>> waiting;
  struct Go {
    using Answer = void;
    std::uint64_t batches = 0;
  };
  void handle_call(Self self, Go go, Reply<void> reply) {
    batches = go.batches;
    waiting.emplace(std::move(reply));
    spawn(self);
  }
  void handle_info(Self self, Message) {
    if (--open != 0) return;
    if (--batches != 0) {
      spawn(self);
    } else {
      (*waiting)();
    }
  }
  void spawn(Self self) {
    open = k_spawn_batch;
    const Pid me = self.pid();
    for (std::uint64_t i = 0; i < k_spawn_batch; ++i) self.spawn<SayOk>(me);
  }
};

struct Nothing {
  explicit Nothing(Self self) { self.stop(); }
};

struct SpawnMonitor : SpawnExit {
  void handle_call(Self self, Go go, Reply<void> reply) {
    batches = go.batches;
    waiting.emplace(std::move(reply));
    spawn(self);
  }
  void handle_info(Self self, Message message) {
    if (!message.is<Down>() || --open != 0) return;
    if (--batches != 0) {
      spawn(self);
    } else {
      (*waiting)();
    }
  }
  void spawn(Self self) {
    open = k_spawn_batch;
    for (std::uint64_t i = 0; i < k_spawn_batch; ++i) self.spawn_monitor<Nothing>();
  }
};

template <class Server>
double spawning() {
  Runtime runtime;
  const Pid server = runtime.spawn<Server>();
  const auto begin = std::chrono::steady_clock::now();
  const auto done = runtime.call<Server>(server, SpawnExit::Go{k_spawns / k_spawn_batch}, k_forever);
  if (!done) throw std::runtime_error(done.error().text());
  return static_cast<double>(k_spawns) / seconds_since(begin);
}

double spawn_exit() { return spawning<SpawnExit>(); }
double spawn_monitor() { return spawning<SpawnMonitor>(); }

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct Idle {
  void handle_info(Self self, Message) { self.stop(); }
};

struct Spawner {
  void handle_call(Self self, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) self.spawn<Idle>();
  }
};

double idle_memory() {
  constexpr std::uint64_t k_idle = 200'000;
  Runtime runtime;
  const Pid spawner = runtime.spawn<Spawner>();
  const auto warm = runtime.call<Spawner>(spawner, std::uint64_t{1});
  if (!warm) throw std::runtime_error(warm.error().text());
  const std::size_t before = resident_bytes();
  const auto spawned = runtime.call<Spawner>(spawner, k_idle, k_forever);
  if (!spawned) throw std::runtime_error(spawned.error().text());
  // All have run their init when a message to the last one was handled; ask for their number instead.
  while (runtime.process_count() < k_idle + 2) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::size_t after = resident_bytes();
  return static_cast<double>(after - before) / static_cast<double>(k_idle);
}

struct Ping {
  Pid from;
};
struct Pong {};

struct Ponger {
  void handle_info(Self self, Message message) {
    if (const Ping* ping = message.get_if<Ping>()) self.send(ping->from, Pong{});
  }
};

struct Pinger {
  struct Go {
    using Answer = void;
    Pid to;
    std::uint64_t rounds = 0;
  };
  Pid to;
  std::uint64_t left = 0;
  std::optional<Reply<void>> waiting;
  void handle_call(Self self, Go go, Reply<void> reply) {
    to = go.to;
    left = go.rounds;
    waiting.emplace(std::move(reply));
    self.send(to, Ping{self.pid()});
  }
  void handle_info(Self self, Message) {
    if (--left != 0) {
      self.send(to, Ping{self.pid()});
    } else {
      (*waiting)();
    }
  }
};

double ping_pong() {
  constexpr std::uint64_t k_rounds = 2'000'000;
  Runtime runtime;
  const Pid ponger = runtime.spawn<Ponger>();
  const Pid pinger = runtime.spawn<Pinger>();
  const auto begin = std::chrono::steady_clock::now();
  const auto done = runtime.call<Pinger>(pinger, Pinger::Go{ponger, k_rounds}, k_forever);
  if (!done) throw std::runtime_error(done.error().text());
  return static_cast<double>(k_rounds) / seconds_since(begin);
}

struct Question {};
struct Server {
  Ok handle_call(Self, Question) { return {}; }
};

Async<double> call_many(Self self, Pid server, std::uint64_t calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < calls; ++i) {
    auto waiting = self.call<Server>(server, Question{});
    const auto answer = co_await waiting;
    if (!answer) throw std::runtime_error(answer.error().text());
  }
  co_return static_cast<double>(calls) / seconds_since(begin);
}

double call() {
  Runtime runtime;
  const Pid server = runtime.spawn<Server>();
  return measure(runtime, &call_many, server, std::uint64_t{1'000'000});
}

double call_from_thread() {
  constexpr std::uint64_t k_calls = 300'000;
  Runtime runtime;
  const Pid server = runtime.spawn<Server>();
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < k_calls; ++i) {
    const auto answer = runtime.call<Server>(server, Question{});
    if (!answer) throw std::runtime_error(answer.error().text());
  }
  return static_cast<double>(k_calls) / seconds_since(begin);
}

constexpr std::int64_t k_ring = 10'000;

struct RingNode {
  Pid next;
  void handle_info(Self self, Message message) {
    if (const auto* hops = message.get_if<std::int64_t>()) {
      self.send(next, *hops);
    } else {
      self.send(next, Stop{});
      self.stop();
    }
  }
};

struct RingMain {
  struct Go {
    using Answer = void;
    Pid first;
    std::int64_t hops = 0;
  };
  struct Build {};
  Pid first;
  std::int64_t left = 0;
  std::optional<Reply<void>> waiting;
  Pid handle_call(Self self, Build) {
    Pid next = self.pid();
    for (std::int64_t i = 1; i < k_ring; ++i) next = self.spawn<RingNode>(next);
    return next;
  }
  void handle_call(Self self, Go go, Reply<void> reply) {
    first = go.first;
    left = go.hops;
    waiting.emplace(std::move(reply));
    self.send(first, left);
  }
  void handle_info(Self self, Message message) {
    if (message.is<Stop>()) return;
    left -= k_ring;
    if (left > 0) {
      self.send(first, left);
    } else {
      (*waiting)();
    }
  }
};

double ring() {
  constexpr std::int64_t k_hops = 5'000'000;
  Runtime runtime;
  const Pid main = runtime.spawn<RingMain>();
  const auto first = runtime.call<RingMain>(main, RingMain::Build{}, k_forever);
  if (!first) throw std::runtime_error(first.error().text());
  const auto begin = std::chrono::steady_clock::now();
  const auto done = runtime.call<RingMain>(main, RingMain::Go{*first, k_hops}, k_forever);
  if (!done) throw std::runtime_error(done.error().text());
  return static_cast<double>(k_hops) / seconds_since(begin);
}

struct Flood {};

struct Flooder {
  Pid sink;
  std::uint64_t messages;
  Flooder(Self self, Pid to, std::uint64_t count) : sink(to), messages(count) { self.send(self.pid(), Flood{}); }
  Async<> handle_info(Self self, Message) {
    for (std::uint64_t i = 0; i < messages; ++i) {
      self.send(sink, Ok{});
      co_await self.yield();
    }
    self.stop();
  }
};

struct FanIn {
  struct Go {
    using Answer = void;
    std::uint64_t senders = 0;
    std::uint64_t each = 0;
  };
  std::uint64_t left = 0;
  std::optional<Reply<void>> waiting;
  void handle_call(Self self, Go go, Reply<void> reply) {
    left = go.senders * go.each;
    waiting.emplace(std::move(reply));
    for (std::uint64_t i = 0; i < go.senders; ++i) self.spawn<Flooder>(self.pid(), go.each);
  }
  void handle_info(Self, Message) {
    if (--left == 0) (*waiting)();
  }
};

double fan_in() {
  constexpr std::uint64_t k_senders = 8;
  constexpr std::uint64_t k_each = 500'000;
  Runtime runtime;
  const Pid sink = runtime.spawn<FanIn>();
  const auto begin = std::chrono::steady_clock::now();
  const auto done = runtime.call<FanIn>(sink, FanIn::Go{k_senders, k_each}, k_forever);
  if (!done) throw std::runtime_error(done.error().text());
  return static_cast<double>(k_senders * k_each) / seconds_since(begin);
}

struct Sum {
  std::uint64_t value = 0;
};

struct Skynet {
  Pid parent;
  std::uint64_t sum = 0;
  std::uint64_t left = 0;
  Skynet(Self self, Pid to, std::uint64_t number, std::uint64_t size) : parent(to) {
    if (size == 1) {
      self.send(parent, Sum{number});
      self.stop();
      return;
    }
    const std::uint64_t part = size / 10;
    left = 10;
    const Pid me = self.pid();
    for (std::uint64_t i = 0; i < 10; ++i) self.spawn<Skynet>(me, number + i * part, part);
  }
  void handle_info(Self self, Message message) {
    sum += message.get_if<Sum>()->value;
    if (--left != 0) return;
    self.send(parent, Sum{sum});
    self.stop();
  }
};

struct SkynetMain {
  struct Go {
    using Answer = std::uint64_t;
    std::uint64_t size = 0;
  };
  std::optional<Reply<std::uint64_t>> waiting;
  void handle_call(Self self, Go go, Reply<std::uint64_t> reply) {
    waiting.emplace(std::move(reply));
    self.spawn<Skynet>(self.pid(), std::uint64_t{0}, go.size);
  }
  void handle_info(Self, Message message) { (*waiting)(message.get_if<Sum>()->value); }
};

double skynet() {
  Runtime runtime;
  const Pid main = runtime.spawn<SkynetMain>();
  const auto begin = std::chrono::steady_clock::now();
  const auto sum = runtime.call<SkynetMain>(main, SkynetMain::Go{1'000'000}, k_forever);
  if (!sum) throw std::runtime_error(sum.error().text());
  if (*sum != 499'999'500'000) throw std::runtime_error("skynet: wrong sum " + std::to_string(*sum));
  return 1'111'111.0 / seconds_since(begin);
}

const Registrar k_spawn_exit{{.group = "runtime", .name = "spawn_exit", .unit = "op/s", .run = spawn_exit}};
const Registrar k_spawn_monitor{{.group = "runtime", .name = "spawn_monitor", .unit = "op/s", .run = spawn_monitor}};
const Registrar k_idle_memory{{.group = "runtime", .name = "idle_memory", .unit = "B/process", .run = idle_memory}};
const Registrar k_ping_pong{{.group = "runtime", .name = "ping_pong", .unit = "roundtrip/s", .run = ping_pong}};
const Registrar k_call{{.group = "runtime", .name = "call", .unit = "call/s", .run = call}};
const Registrar k_call_from_thread{
    {.group = "runtime", .name = "call_from_thread", .unit = "call/s", .run = call_from_thread}};
const Registrar k_ring_bench{{.group = "runtime", .name = "ring", .unit = "hop/s", .run = ring}};
const Registrar k_fan_in{{.group = "runtime", .name = "fan_in", .unit = "msg/s", .run = fan_in}};
const Registrar k_skynet{{.group = "runtime", .name = "skynet", .unit = "actor/s", .run = skynet}};

}  // namespace
}  // namespace skein::bench
