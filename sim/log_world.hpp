// One simulated life story of a journal, from a seed: clients append through the real core on a simulated disk, the
// program is killed, the power cut, operations fail, the disk fills up, closed files are damaged, and it starts again.
// An oracle watches every step. Single-threaded; the same seed gives the same story.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/log_damage.hpp"
#include "sim/log_oracle.hpp"
#include "sim/sim_disk.hpp"
#include "skein/base/random.hpp"
#include "skein/journal/embedded_core.hpp"

namespace skein::sim {

struct StoryResult {
  std::optional<std::string> violation;
  std::vector<std::string> trace;  // only when asked for
  std::uint64_t commands = 0;      // that reached the machine
  std::uint64_t starts = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t failures = 0;  // of the disk: lives in which one was due
  std::uint64_t damages = 0;
  std::uint64_t points = 0;  // persistence points passed
  Tally tally;               // which faults came about, and how often
};

[[nodiscard]] StoryResult tell_log_story(std::uint64_t seed, bool trace);

// Where the journal lives on the simulated disk.
inline constexpr const char* k_sim_dir = "/journal";

class LogWorld {
 public:
  LogWorld(std::uint64_t seed, bool trace);

  [[nodiscard]] StoryResult run();

 private:
  struct Client {
    std::optional<Serial> batch;  // that it wants applied
    bool waiting = false;         // for an answer
    std::uint64_t wants_at_us = 0;
  };
  // What a start finds.
  struct Found {
    journal::Position position = 0;
    Digest hash{};
    std::vector<Step> steps;

    friend bool operator==(const Found&, const Found&) = default;
  };
  struct JobResult {
    journal::AsideResult result;
    bool lost_names = false;  // by a failed sync of the folder, in this job
  };
  enum class Ending { close, kill, power_cut, cut_at_point, disk_failure };

  void live_once();
  // True when the journal is open.
  bool start();
  void check_marks_are_safe();
  void take_steps(std::uint64_t steps);
  void take_step();
  void end(Ending ending);
  void finish();
  void drop_core();

  void submit_some();
  void submit(std::size_t client);
  void answered(std::size_t client, Serial first, const journal::AppendAnswer& answer);
  void take_job();
  void run_job();
  void work_meanwhile();
  using JobAt = std::deque<journal::AsideJob>::iterator;
  void run_job(const JobAt& at);
  [[nodiscard]] bool may_run(const journal::AsideJob& job) const;
  void deliver_result();
  void change_capacity();
  void change_scarcity();
  void ask_to_read();
  void observe();
  void damage_a_copy(bool closed);
  void judge(const Damage& damage, const Found& found, const Found& whole);

  void note(std::string text);
  [[nodiscard]] bool violated() const { return oracle_.violation().has_value(); }
  [[nodiscard]] journal::JournalLimits make_limits();

  Random random_;
  bool tracing_;
  StoryResult result_;
  SimDisk disk_;
  bool ids_forgotten_;
  LogOracle oracle_;
  bool opening_ = false;
  bool opened_once_ = false;
  journal::JournalLimits limits_;
  std::unique_ptr<HistoryMachine> machine_;
  std::unique_ptr<journal::EmbeddedCore> core_;
  std::uint64_t life_ = 0;
  Ending ending_ = Ending::close;  // of this life
  std::vector<Client> clients_;
  std::deque<journal::AsideJob> jobs_;
  std::deque<JobResult> results_;
  std::size_t command_bytes_ = 0;  // 0: each of its own size
  bool healed_ = false;
  // In some stories half of the folder's syncs are slow, those in the middle of another's are the ones to fail, and
  // both threads beside the log are at work at once.
  bool busy_folder_;
  Random luck_;     // with descriptors
  bool is_scarce_;  // now and then there are too few of them
  bool spare_running_ = false;
  bool slow_running_ = false;
};

}  // namespace skein::sim
