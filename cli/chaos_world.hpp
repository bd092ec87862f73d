// A node of its own on a temporary folder, with agents of three kinds and tasks that never cease, to be broken: what
// `skein chaos collapse` and `skein chaos run` have in common. One thread.
//
// The account at its end is read from the log on the disk (log_account.hpp), not from what the node says of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/chaos_load.hpp"
#include "cli/child_node.hpp"
#include "cli/os_marks.hpp"
#include "cli/patience.hpp"
#include "cli/session.hpp"
#include "cli/story.hpp"
#include "cli/temporary_folder.hpp"

namespace skein::cli {

inline constexpr const char* k_crew = "crew";  // a supervisor of the config, one_for_one 5/60, with named agents
inline constexpr int k_crew_size = 5;
inline constexpr int k_crew_intensity = 5;

class ChaosWorld {
 public:
  // `agents` in each swarm. Throws GaveUp when the node does not come up.
  ChaosWorld(const Patience& patience, std::uint64_t agents, std::uint64_t open_tasks);
  ~ChaosWorld();
  ChaosWorld(const ChaosWorld&) = delete;
  ChaosWorld& operator=(const ChaosWorld&) = delete;

  [[nodiscard]] ChildNode& node() { return node_; }
  [[nodiscard]] ChaosLoad& load() { return *load_; }
  [[nodiscard]] const std::string& mark() const { return mark_; }
  [[nodiscard]] const Patience& patience() const { return patience_; }
  [[nodiscard]] bool has_python() const { return has_python_; }
  [[nodiscard]] std::size_t agents_wanted() const { return 3 * agents_ + k_crew_size; }

  // Milliseconds until it serves again. Throws GaveUp.
  double start();
  // Stops the node gracefully and starts it: windows and budgets are empty afterwards.
  double restart_gracefully();
  // Connects when needed; one more try when the connection was lost.
  [[nodiscard]] control::ClientResult<json::value> ask(std::string_view op, const json::object& params = {});
  // The answer, or GaveUp.
  [[nodiscard]] json::value must(std::string_view op, const json::object& params = {});
  [[nodiscard]] bool wait_for_agents(std::chrono::milliseconds limit);
  void disconnect() { client_.reset(); }
  [[nodiscard]] bool log_has(std::string_view text) const;

  struct Account {
    std::uint64_t accepted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t again = 0;     // tasks given to agents more than once
    std::uint64_t repeated = 0;  // submits sent again
    std::uint64_t entries = 0;   // in the log
    double drained_ms = 0;       // from the last submit until nothing was open
    std::vector<std::string> wrong;
  };
  // Ends the load, lets everything finish, stops the node gracefully and reads its log.
  // `others`: tasks submitted besides the load's.
  [[nodiscard]] Account settle(std::chrono::milliseconds limit, std::uint64_t others);
  // Prints what is wrong; true when nothing is.
  static bool show(const Account& account, const Story& story);

 private:
  const Patience& patience_;
  std::uint64_t agents_;
  TemporaryFolder folder_;
  std::string mark_;
  bool has_python_;
  ChildNode node_;
  std::unique_ptr<control::Client> client_;
  std::unique_ptr<ChaosLoad> load_;
};

// The entry of a path such as "engine_sup/work_sup" in the answer of `tree`; null when there is none.
[[nodiscard]] const json::value* tree_entry(const json::value& tree, std::string_view path);
// Pids of everything below and of itself.
void tree_pids(const json::value& entry, std::vector<std::string>& pids);

}  // namespace skein::cli
