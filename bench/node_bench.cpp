// Benchmarks of a whole node as a person has it: the skein program, started with exec and asked through its socket.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/program.hpp"
#include "bench/workload.hpp"
#include "skein/control/client.hpp"

namespace skein::bench {
namespace {

constexpr int k_node_starts = 9;
constexpr int k_large_starts = 5;
constexpr int k_calls = 200;
constexpr std::uint64_t k_open = 100'000;
constexpr std::uint64_t k_archived = 1'000'000;
constexpr std::uint64_t k_archived_at_once = 200'000;
constexpr std::uint64_t k_submitted = 200'000;
constexpr std::chrono::seconds k_idle_time{10};
constexpr std::chrono::seconds k_settle{2};
constexpr std::chrono::minutes k_archive_limit{10};
constexpr std::chrono::milliseconds k_archive_look{100};

// A folder with a config for a node, gone with its owner.
class Folder {
 public:
  Folder() : dir_("node") {
    // Room for what is submitted at once; everything else is as it comes.
    std::ofstream(path() + "/skein.toml") << "[swarms.default]\nmin = 5\nmax = 20\nopen_tasks = 1000000\n";
  }
  [[nodiscard]] std::string path() const { return dir_.path(); }
  [[nodiscard]] std::string data() const { return path() + "/data"; }

 private:
  BenchDir dir_;
};

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

double start_empty() {
  std::vector<double> times;
  for (int i = 0; i < k_node_starts; ++i) {
    const Folder folder;
    const Program program(folder.path());
    times.push_back(program.ready_ms());
  }
  return median(std::move(times));
}

std::uint64_t asked(const std::string& data, const char* key) {
  auto client = control::Client::connect(data);
  if (!client) throw std::runtime_error(client.error().message);
  const auto status = client->ask("status", {});
  if (!status) throw std::runtime_error(status.error().message);
  return status->at(key).to_number<std::uint64_t>();
}

void wait_for_archive(const std::string& data, std::uint64_t wanted) {
  const auto until = Clock::now() + k_archive_limit;
  while (asked(data, "archived") < wanted) {
    if (Clock::now() > until) throw std::runtime_error("the tasks did not come into the archive");
    std::this_thread::sleep_for(k_archive_look);
  }
}

// Filled by a node as tasks come and go, and left by kill -9, as a crash would.
void fill(const Folder& folder) {
  const Program program(folder.path());
  for (std::uint64_t done = 0; done < k_archived;) {
    run_program(folder.path(), {"submit", "echo", "--count", std::to_string(k_archived_at_once), "--data", "data"});
    done += k_archived_at_once;
    wait_for_archive(folder.data(), done);
  }
  run_program(folder.path(), {"submit", "nobody", "--count", std::to_string(k_open), "--data", "data"});
}

double start_open() {
  const Folder folder;
  fill(folder);
  std::vector<double> times;
  for (int i = 0; i < k_large_starts; ++i) {
    const Program program(folder.path());
    times.push_back(program.ready_ms());
    if (asked(folder.data(), "open_tasks") != k_open || asked(folder.data(), "archived") != k_archived) {
      throw std::runtime_error("tasks are missing");
    }
  }
  return median(std::move(times));
}

double cli_status() {
  const Folder folder;
  const Program program(folder.path());
  std::vector<double> times;
  for (int i = 0; i < k_calls; ++i) {
    const auto begin = Clock::now();
    run_program(folder.path(), {"status", "--data", "data"});
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return median(std::move(times));
}

// From exec to exit, every submit accepted and durable, while agents run what they can.
double submit_count() {
  const Folder folder;
  const Program program(folder.path());
  const auto begin = Clock::now();
  run_program(folder.path(), {"submit", "echo", "--count", std::to_string(k_submitted), "--data", "data"});
  return static_cast<double>(k_submitted) / std::chrono::duration<double>(Clock::now() - begin).count();
}

double rss_idle() {
  const Folder folder;
  const Program program(folder.path());
  std::this_thread::sleep_for(k_settle);
  return program.resident_mb();
}

double cpu_idle() {
  const Folder folder;
  const Program program(folder.path());
  std::this_thread::sleep_for(k_settle);
  const double before = program.cpu_seconds();
  std::this_thread::sleep_for(k_idle_time);
  return (program.cpu_seconds() - before) * 100 / std::chrono::duration<double>(k_idle_time).count();
}

const Registrar k_start_empty{{.group = "node", .name = "start_empty", .unit = "ms", .run = start_empty}};
const Registrar k_start_open{{.group = "node", .name = "start_100000_open", .unit = "ms", .run = start_open}};
const Registrar k_cli_status{{.group = "node", .name = "cli_status", .unit = "ms", .run = cli_status}};
const Registrar k_submit_count{{.group = "node", .name = "submit_cli_count", .unit = "task/s", .run = submit_count}};
const Registrar k_rss_idle{{.group = "node", .name = "rss_idle", .unit = "MB", .run = rss_idle}};
const Registrar k_cpu_idle{{.group = "node", .name = "cpu_idle", .unit = "percent", .run = cpu_idle}};

}  // namespace
}  // namespace skein::bench
