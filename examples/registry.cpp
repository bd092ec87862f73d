// Agents under names: found by name and capability, waited for, gone with their process, taken over by a standby.
#include <cstdio>
#include <memory>
#include <string>

#include "skein/registry/registry.hpp"

using skein::Pid;
using skein::RegistryTable;
using skein::Self;

struct News {
  std::string text;
};

// Registers itself, and prints what it is told.
struct Worker {
  std::string id;
  Worker(Self self, std::shared_ptr<RegistryTable> table, std::string name) : id(std::move(name)) {
    const auto registered = table->register_agent(id, self.pid(), {"execute", "report"});
    if (!registered) std::printf("%s: %s\n", id.c_str(), registered.error().text().c_str());
  }
  void handle_info(Self, skein::Message message) {
    if (const auto* news = message.get_if<News>()) std::printf("%s heard: %s\n", id.c_str(), news->text.c_str());
    if (const auto* event = message.get_if<skein::NameEvent>()) {
      if (event->change == skein::NameChange::failover) std::printf("%s is now %s\n", id.c_str(), event->name.c_str());
    }
  }
};

int main() {
  skein::Runtime runtime;
  const auto table = std::make_shared<RegistryTable>(runtime);
  const auto registry = runtime.start<skein::Registry>({}, table);
  if (!registry) return 1;

  const Pid first = runtime.spawn<Worker>(table, "worker-1");
  const Pid second = runtime.spawn<Worker>(table, "worker-2");
  const auto found = table->await_agent("worker-1", std::chrono::seconds(5));
  if (found != first || table->await_agent("worker-2", std::chrono::seconds(5)) != second) return 1;

  std::printf("can execute: %zu\n", table->find_agents_by_capability("execute").size());
  const auto both = table->query_agents({"execute", "report"});
  for (const std::string& id : *both) std::printf("both: %s\n", id.c_str());
  const auto taken = table->register_agent("worker-1", second);
  std::printf("again: %s\n", taken.error().text().c_str());

  (void)table->increment_load("worker-1");
  const auto below = table->decrement_load("worker-1", 2);
  std::printf("load: %s\n", below.error().text().c_str());

  // The second stands by for the first, which then dies.
  (void)table->watch_name("worker-1", second, skein::WatchMode::standby);
  (void)table->subscribe("news", second, skein::Deliver::once);
  runtime.exit(first, skein::ExitReason::kill());
  (void)runtime.wait_for_end(first);
  const auto heir = table->await_agent("worker-1", std::chrono::seconds(5));
  std::printf("after the death: %s\n", heir == second ? "the standby" : "nobody");
  const std::size_t readers = table->publish("news", News{"the first is gone"});

  // Answered after the news was read.
  (void)runtime.describe(second);
  const auto report = runtime.shutdown();
  return heir == second && readers == 1 && report.clean ? 0 : 1;
}
