// The small processes of a node's tree: config, which reloads, and health, which looks after what the program is short
// of.
#pragma once

#include <memory>
#include <string>

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_config_name = "config";
inline constexpr std::string_view k_named_agents_name = "named_agents";

struct ReloadConfig {};

// Reads the file again and applies what can be changed while running.
class ConfigKeeper {
 public:
  ConfigKeeper(Self self, ContextPtr context);
  Task<operations::Result<operations::ReloadAnswer>> handle_call(Self self, ReloadConfig request);
  [[nodiscard]] std::string describe() const;

 private:
  Task<void> change_agents(Self self, std::shared_ptr<const Config> before, std::shared_ptr<const Config> after,
                           std::shared_ptr<operations::ReloadAnswer> answer);
  ContextPtr context_;
  std::uint64_t reloads_ = 0;
};

// What differs between two configs and needs a restart, by key.
[[nodiscard]] std::vector<std::string> needs_restart(const Config& before, const Config& after);

// Looks every second whether there are descriptors for the journal's files, takes spares back when there are, and says
// in the log when there were none and when there are again.
class Health {
 public:
  Health(Self self, ContextPtr context);
  void handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Beat {};
  void look_at_descriptors();

  ContextPtr context_;
  std::uint64_t beats_ = 0;
  std::uint64_t failures_ = 0;  // of opens, as far as they were told
  bool is_wanting_ = false;
};

}  // namespace skein::inline v0::node
