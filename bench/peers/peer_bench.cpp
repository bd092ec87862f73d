// The runtime workloads of skein-bench on CAF 0.17 (Debian's libcaf-dev). Prints one line per workload: name, unit,
// figure. usage: peer_bench [WORKLOAD...]; without names it runs all of them.
#include <unistd.h>

#include <caf/all.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using caf::actor;
using caf::actor_cast;
using caf::actor_system;
using caf::anon_send;
using caf::anon_send_exit;
using caf::behavior;
using caf::event_based_actor;
using caf::exit_reason;
using caf::scoped_actor;
using caf::stateful_actor;

namespace {

using Done = caf::atom_constant<caf::atom("done")>;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

behavior pong(event_based_actor*) {
  return {[](int x) { return x; }};
}

struct PingState {
  int left;
};

behavior ping(stateful_actor<PingState>* self, actor to, int n, actor back) {
  self->state.left = n;
  self->send(to, 0);
  return {[=](int x) {
    if (--self->state.left == 0) {
      anon_send(back, Done::value);
      self->quit();
      return;
    }
    self->send(to, x);
  }};
}

behavior hop(event_based_actor* self, actor next) {
  return {[=](int x) { self->send(next, x); }};
}

behavior sky(stateful_actor<std::pair<long, int>>* self, actor parent, long num, long size) {
  if (size == 1) {
    self->send(parent, num);
    self->quit();
    return {};
  }
  for (int i = 0; i < 10; ++i) self->spawn(sky, actor_cast<actor>(self), num + i * (size / 10), size / 10);
  self->state = {0, 10};
  return {[=](long x) {
    self->state.first += x;
    if (--self->state.second == 0) {
      self->send(parent, self->state.first);
      self->quit();
    }
  }};
}

double spawn_exit(actor_system& system) {
  scoped_actor me{system};
  const int n = 1000000;
  const int wave = 10000;
  const double begin = now_s();
  for (int w = 0; w < n / wave; ++w) {
    for (int i = 0; i < wave; ++i) {
      system.spawn([](event_based_actor* self, actor back) { self->send(back, Done::value); }, actor_cast<actor>(me));
    }
    for (int i = 0; i < wave; ++i) me->receive([](Done) {});
  }
  return n / (now_s() - begin);
}

double idle_memory(actor_system& system) {
  const int n = 200000;
  std::vector<actor> all;
  const double before = resident_bytes();
  for (int i = 0; i < n; ++i) all.push_back(system.spawn(pong));
  const double each = (resident_bytes() - before) / n;
  for (auto& one : all) anon_send_exit(one, exit_reason::user_shutdown);
  return each;
}

double ping_pong(actor_system& system) {
  scoped_actor me{system};
  const int n = 1000000;
  auto other = system.spawn(pong);
  const double begin = now_s();
  system.spawn(ping, other, n, actor_cast<actor>(me));
  me->receive([](Done) {});
  const double rate = n / (now_s() - begin);
  anon_send_exit(other, exit_reason::user_shutdown);
  return rate;
}

double ring(actor_system& system) {
  scoped_actor me{system};
  const int members = 10000;
  const int hops = 5000000;
  std::vector<actor> all;
  actor next = actor_cast<actor>(me);
  for (int i = 1; i < members; ++i) {
    next = system.spawn(hop, next);
    all.push_back(next);
  }
  const double begin = now_s();
  for (int h = 0; h < hops; h += members) {
    me->send(next, h);
    me->receive([](int) {});
  }
  const double rate = hops / (now_s() - begin);
  for (auto& one : all) anon_send_exit(one, exit_reason::user_shutdown);
  return rate;
}

double fan_in(actor_system& system) {
  scoped_actor me{system};
  const int senders = 8;
  const int each = 500000;
  auto back = actor_cast<actor>(me);
  auto sink = system.spawn([=](stateful_actor<int>* self) -> behavior {
    self->state = senders * each;
    return {[=](int) {
      if (--self->state == 0) {
        anon_send(back, Done::value);
        self->quit();
      }
    }};
  });
  const double begin = now_s();
  for (int i = 0; i < senders; ++i) {
    system.spawn([=](event_based_actor* self) {
      for (int k = 0; k < each; ++k) self->send(sink, k);
    });
  }
  me->receive([](Done) {});
  return senders * static_cast<double>(each) / (now_s() - begin);
}

double skynet(actor_system& system) {
  scoped_actor me{system};
  const double begin = now_s();
  system.spawn(sky, actor_cast<actor>(me), 0L, 1000000L);
  me->receive([](long sum) {
    if (sum != 499999500000L) std::abort();
  });
  return 1111111 / (now_s() - begin);
}

struct Workload {
  const char* name;
  const char* unit;
  double (*run)(actor_system&);
};

const Workload k_workloads[] = {
    {"spawn_exit", "op/s", spawn_exit},
    {"idle_memory", "B/process", idle_memory},
    {"ping_pong", "roundtrip/s", ping_pong},
    {"ring", "hop/s", ring},
    {"fan_in", "msg/s", fan_in},
    {"skynet", "actor/s", skynet},
};

}  // namespace

int main(int argc, char** argv) {
  caf::actor_system_config config;
  actor_system system{config};
  const std::vector<std::string> names(argv + 1, argv + argc);
  for (const Workload& each : k_workloads) {
    bool wanted = names.empty();
    for (const auto& name : names) wanted = wanted || name == each.name;
    if (!wanted) continue;
    std::printf("caf %s %s %.2f\n", each.name, each.unit, each.run(system));
    std::fflush(stdout);
  }
}
