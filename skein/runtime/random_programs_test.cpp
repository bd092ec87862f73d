// Random small programs of spawn, link, monitor, send and exit, run under random seeds, against what must always hold:
// every monitor gives exactly one Down unless it was taken back, both sides of a link agree, messages of a pair keep
// their order, and nothing is left at the end.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/runtime/core.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

enum class Act : std::uint8_t {
  send,
  link,
  unlink,
  monitor,
  demonitor,
  exit,
  kill,
  stop,
  crash,
  spawn,
  spawn_linked,
  trap,
  sleep,
  start_failing,
};
constexpr std::uint64_t k_acts = 14;

struct Order {
  Act act;
  std::uint64_t choice;
};
struct Numbered {
  int number;
};

struct Watch {
  Pid owner;
  Pid target;
  int downs = 0;
  bool taken_back = false;
};

// What everybody did and saw. One thread: no lock.
struct World {
  std::vector<Pid> everybody;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Watch> watches;  // by owner and ref
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> sent;       // by pair
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> received;   // by pair: the last number
  std::vector<std::string> wrong;

  [[nodiscard]] Pid pick(std::uint64_t choice) const { return everybody[choice % everybody.size()]; }
};

struct Doomed {
  explicit Doomed(World* /*world*/) { throw std::runtime_error("never starts"); }
};

class Citizen {
 public:
  explicit Citizen(World* world) : world_(world) {}

  Async<void> handle_info(Self self, Message message) {
    if (const auto* order = message.get_if<Order>()) {
      const Order copy = *order;
      if (copy.act == Act::sleep) {
        auto sleeping = self.sleep(std::chrono::milliseconds(copy.choice % 20));
        co_await sleeping;
      } else if (copy.act == Act::start_failing) {
        SpawnOptions options;
        options.link = true;
        auto starting = self.start<Doomed>(options, world_);
        const StartResult result = co_await starting;
        if (result) world_->wrong.emplace_back("it started");
      } else {
        carry_out(self, copy);
      }
    } else if (const auto* numbered = message.get_if<Numbered>()) {
      int& last = world_->received[{message.from().bits(), self.pid().bits()}];
      if (numbered->number <= last) world_->wrong.emplace_back("out of order");
      last = numbered->number;
    } else if (const auto* down = message.get_if<Down>()) {
      Watch& watch = world_->watches[{self.pid().bits(), down->ref.id}];
      if (watch.taken_back) world_->wrong.emplace_back("a Down of a monitor that was taken back");
      if (watch.target != down->pid) world_->wrong.emplace_back("a Down of somebody else");
      if (++watch.downs > 1) world_->wrong.emplace_back("a second Down");
    }
  }

 private:
  void carry_out(Self self, Order order) {
    const Pid other = world_->pick(order.choice);
    const std::uint64_t me = self.pid().bits();
    switch (order.act) {
      case Act::send:
        self.send(other, Numbered{++world_->sent[{me, other.bits()}]});
        break;
      case Act::link:
        self.link(other);
        break;
      case Act::unlink:
        self.unlink(other);
        break;
      case Act::monitor: {
        const MonitorRef ref = self.monitor(other);
        world_->watches[{me, ref.id}] = Watch{self.pid(), other};
        refs_.push_back(ref);
        break;
      }
      case Act::demonitor:
        if (!refs_.empty()) {
          const MonitorRef ref = refs_[order.choice % refs_.size()];
          self.demonitor(ref);
          world_->watches[{me, ref.id}].taken_back = true;
        }
        break;
      case Act::exit:
        self.exit(other, order.choice % 3 == 0 ? ExitReason::normal() : ExitReason::custom("told"));
        break;
      case Act::kill:
        self.exit(other, ExitReason::kill());
        break;
      case Act::stop:
        self.stop(order.choice % 2 == 0 ? ExitReason::normal() : ExitReason::shutdown());
        break;
      case Act::crash:
        throw std::runtime_error("crash");
      case Act::spawn:
        world_->everybody.push_back(self.spawn<Citizen>(world_));
        break;
      case Act::spawn_linked: {
        SpawnOptions options;
        options.link = true;
        options.monitor = true;
        const auto child = self.spawn_with<Citizen>(options, world_);
        world_->everybody.push_back(child.pid);
        world_->watches[{me, child.ref.id}] = Watch{self.pid(), child.pid};
        refs_.push_back(child.ref);
        break;
      }
      case Act::trap:
        self.trap_exit(order.choice % 2 == 0);
        break;
      case Act::sleep:
      case Act::start_failing:
        break;
    }
  }

  World* world_;
  std::vector<MonitorRef> refs_;
};

std::vector<Pid> links_of(Runtime& runtime, Pid pid) {
  std::vector<Pid> links;
  if (!runtime.is_alive(pid)) return links;
  const detail::Slot& slot = *runtime.core().table.find(pid);
  if (slot.first_link) links.push_back(slot.first_link);
  if (slot.extension != nullptr) {
    for (const std::uint64_t bits : slot.extension->links) links.push_back(Pid::from_bits(bits));
  }
  return links;
}

void check_links(Runtime& runtime, World& world) {
  for (const Pid one : world.everybody) {
    for (const Pid other : links_of(runtime, one)) {
      const std::vector<Pid> back = links_of(runtime, other);
      if (std::find(back.begin(), back.end(), one) == back.end()) world.wrong.push_back("a link of one side only");
    }
  }
}

void check_watches(Runtime& runtime, World& world) {
  for (const auto& [key, watch] : world.watches) {
    if (watch.taken_back || !runtime.is_alive(watch.owner)) continue;
    const int expected = runtime.is_alive(watch.target) ? 0 : 1;
    if (watch.downs != expected) world.wrong.push_back("Downs: " + std::to_string(watch.downs));
  }
}

std::vector<std::string> wrong_in(std::uint64_t seed, const std::vector<Order>& orders, std::uint64_t whom) {
  World world;
  Runtime runtime(tests::seeded(seed));
  for (int i = 0; i < 4; ++i) {
    const std::string name = "citizen" + std::to_string(i);
    SpawnOptions named;
    named.name = name;
    world.everybody.push_back(runtime.spawn_with<Citizen>(named, &world));
  }
  Random random(whom);
  for (const Order& order : orders) {
    runtime.send(world.pick(random.next()), order);
    // Some orders are carried out at once, others pile up.
    for (std::uint64_t steps = random.below(4); steps > 0; --steps) runtime.step();
  }
  runtime.run_until_idle();
  check_links(runtime, world);
  check_watches(runtime, world);
  for (const Pid pid : world.everybody) runtime.exit(pid, ExitReason::kill());
  runtime.run_until_idle();
  if (runtime.process_count() != 0) world.wrong.emplace_back("somebody is left");
  for (int i = 0; i < 4; ++i) {
    if (runtime.whereis("citizen" + std::to_string(i))) world.wrong.emplace_back("a name is left");
  }
  if (runtime.core().wheel.size() != 0) world.wrong.emplace_back("a timer is left");
  return world.wrong;
}

RC_GTEST_PROP(RandomPrograms, keep_every_promise, (std::uint64_t seed, std::uint64_t whom)) {
  const auto raw = *rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint8_t>>>();
  std::vector<Order> orders;
  for (const auto& [act, choice] : raw) orders.push_back(Order{static_cast<Act>(act % k_acts), choice});
  const std::vector<std::string> wrong = wrong_in(seed, orders, whom);
  RC_ASSERT(wrong == std::vector<std::string>{});
}

TEST(RandomPrograms, long_ones_keep_every_promise_over_hundreds_of_seeds) {
  const std::uint64_t seeds = tests::k_sanitized ? 100 : 500;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed * 7919 + 1);
    std::vector<Order> orders;
    for (int i = 0; i < 200; ++i) {
      // Mostly ties and messages; the ends are rare enough for something to happen in between.
      const bool ends = random.chance(0.1);
      const std::uint64_t act = ends ? random.below(k_acts) : random.below(5);
      orders.push_back(Order{static_cast<Act>(act), random.next()});
    }
    ASSERT_EQ(wrong_in(seed, orders, seed), std::vector<std::string>{}) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skein
