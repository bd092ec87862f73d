// The small processes of a node's tree: config, which reloads (see docs/config.md), and health, which looks after what
// the program is short of.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_config_name = "config";
inline constexpr std::string_view k_named_agents_name = "named_agents";

inline constexpr std::string_view k_agents_sup_name = "agents_sup";
inline constexpr std::string_view k_work_sup_name = "work_sup";

struct ReloadConfig {};

// Reads the file again and puts it in force, see config_reload.hpp: executors, the dispatcher (which is replaced),
// swarms, agents and supervisors. Agents and supervisors that differ, or are gone from the file, are ended once idle;
// until then it looks every k_settle_every. It keeps nothing that matters: what runs is in the context's Deployment.
class ConfigService {
 public:
  ConfigService(Self self, ContextPtr context);
  Async<operations::Result<operations::ReloadAnswer>> handle_call(Self self, ReloadConfig request);
  Async<void> handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Settle {
    std::uint64_t number = 0;
  };
  using AnswerPtr = std::shared_ptr<operations::ReloadAnswer>;
  Async<void> replace_dispatcher(Self self);
  // One pass over what should be under agents_sup and what is. With an answer, which is told what happened, agents that
  // were stopped come back.
  Async<void> settle(Self self, AnswerPtr answer);
  Async<bool> is_idle(Self self, std::vector<std::string> agents);
  Async<bool> end_unit(Self self, std::string name, Unit unit);
  Async<void> start_unit(Self self, std::string name, Unit unit, AnswerPtr answer);
  Async<void> keep_unit(Self self, std::string name, Unit unit, AnswerPtr answer);
  void settle_again(Self self);
  void tell(const AnswerPtr& answer, std::string text);

  ContextPtr context_;
  std::uint64_t reloads_ = 0;
  std::uint64_t settles_ = 0;
  std::set<std::string> retiring_;  // units whose agents were told to begin nothing more
};

// Looks every second whether there are descriptors for the journal's files, takes spares back when there are, and says
// in the log when there were none and when there are again.
class DescriptorWatch {
 public:
  DescriptorWatch(Self self, ContextPtr context);
  void handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Beat {};
  void look_at_descriptors();

  ContextPtr context_;
  std::uint64_t failures_ = 0;  // of opens, as far as they were told
  bool is_wanting_ = false;
};

}  // namespace skein::inline v0::node
