// A node's config: skein.toml as a typed value. Plain values; any thread.
//
// parse_config() finds every error of a file at once, each as "file:line: what is wrong (what was meant?)". A Config
// that it gives is consistent: executors that are named exist, ranges hold, ids are unique. Sections that other layers
// have options for are those options, so that a default is written in one place.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/archive/archiver.hpp"
#include "skein/base/time.hpp"
#include "skein/control/limits.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/operations/operations.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_config_file = "skein.toml";
inline constexpr std::string_view k_function_executor = "function";  // always there
inline constexpr std::string_view k_default_swarm = "default";       // when none is declared

struct NodeSection {
  std::string name = "node";
  std::string data{};  // empty: the program that starts the node decides
  Duration drain = std::chrono::seconds(30);
  Duration stuck_limit = std::chrono::seconds(30);
  std::string on_stuck = "abort";
  std::string log_level = "info";
  std::string log_format = "text";  // or json, an object a line
  std::uint32_t workers = 0;
  std::uint32_t processes_max = 1'000'000;
  std::uint32_t blocking_threads = 16;
  std::uint32_t unauthenticated_max = 128;
  bool core_dumps = false;
};

struct TcpSection {
  bool enabled = false;
  std::string listen = "127.0.0.1:7434";
  std::string auth = "token";  // or none, on loopback only
  std::uint32_t connections = 10'000;
  std::uint64_t output_bytes = 16ULL << 20U;
  Duration login = std::chrono::seconds(10);
  Duration receive = std::chrono::seconds(30);
  Duration stalled = std::chrono::seconds(30);
  Duration idle = std::chrono::hours(1);
};

struct HttpSection {
  bool enabled = true;
  bool is_named = false;  // somebody said where, or that it is on: then it must be had
  std::string listen = "127.0.0.1:7433";
  std::string auth = "token";        // or none, on loopback only
  std::vector<std::string> hosts{};  // names it is known by, besides addresses and localhost
  std::uint32_t connections = 10'000;
  std::uint64_t head_bytes = 16ULL << 10U;
  std::uint64_t body_bytes = 4ULL << 20U;
  std::uint64_t output_bytes = 16ULL << 20U;
  Duration idle = std::chrono::seconds(75);
  Duration receive = std::chrono::seconds(30);
  Duration stalled = std::chrono::seconds(30);
};

struct ArchiveSection {
  bool enabled = true;
  archive::ArchiverLimits limits;
};

struct ExecutorConfig {
  std::string kind{};
  std::vector<std::string> functions{};
  std::vector<std::string> command{};
  std::string directory{};
  std::vector<std::string> env{"PATH", "HOME", "LANG", "TZ"};
  std::map<std::string, std::string> set_env{};
  Duration timeout{};  // zero: by kind
  std::uint32_t concurrency = 0;
  std::uint64_t memory_max = 0;
  Duration cpu_max{};
  std::uint32_t files_max = 256;
  std::uint64_t file_max = 0;
  std::uint32_t processes_max = 0;
  std::uint64_t output_bytes = 1ULL << 20U;
  std::uint64_t line_bytes = 1ULL << 20U;
  std::uint64_t stderr_bytes = 64ULL << 10U;
  std::string output = "json";
  Duration term_after = std::chrono::seconds(1);
  Duration kill_after = std::chrono::seconds(2);
  Duration hello_timeout = std::chrono::seconds(10);
  Duration heartbeat_timeout{};
  std::string user{};   // name or number; empty: the node's
  std::string group{};  // likewise; empty: the user's
  bool no_new_privs = true;
  std::string umask = "077";
  std::string isolate = "auto";  // or none, private
  bool token = false;            // its programs are given the token of their task

  friend bool operator==(const ExecutorConfig&, const ExecutorConfig&) = default;
};

struct AgentConfig {
  std::string id{};
  std::string executor{k_function_executor};
  std::string role = "worker";
  std::vector<std::string> capabilities{};  // empty: capabilities_of() says
  std::string swarm{k_default_swarm};
  std::uint32_t prefetch = 1;

  friend bool operator==(const AgentConfig&, const AgentConfig&) = default;
};

// One of the config has agents unless it says otherwise.
struct SwarmConfig : ledger::SwarmFields {
  SwarmConfig() { executor = k_function_executor; }
};

// Where in the file an executor names what must be there when it runs; 0: it does not.
struct ExecutorLines {
  std::uint32_t command = 0;
  std::uint32_t directory = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint32_t functions = 0;
};

struct ConfigFault {
  std::uint32_t line = 0;  // 0: of the file as a whole
  std::string message;
};

struct Config {
  std::string file{};                   // where it was read; empty: defaults
  std::vector<std::string> settings{};  // what was said over it, see parse_config
  NodeSection node;
  HttpSection http;
  TcpSection tcp;
  control::SocketLimits socket;
  operations::OperationsLimits operations;
  ledger::Limits limits;
  journal::JournalLimits journal;
  ArchiveSection archive;
  dispatch::DispatcherOptions dispatch;
  std::map<std::string, ExecutorConfig> executors;
  std::vector<AgentConfig> agents;
  bool conformance_fixtures = false;  // not in the file: for tests of MCP
  std::map<std::string, SwarmConfig> swarms;
  std::string text{};  // of the file: its [[supervisors]] are built from it, see declared_supervisors.hpp
  std::map<std::string, ExecutorLines> executor_lines{};
  // Keys without a meaning where they stand. The node still starts; `skein config check` takes them for errors.
  std::vector<ConfigFault> misfits{};
  // [node] data as it was written, where it decided: neither --data nor SKEIN_DATA named the folder.
  std::optional<std::string> data_of_file{};
};

// All that is wrong with a file, in the order of its lines.
struct ConfigFaults {
  std::string file;
  std::vector<ConfigFault> faults;
  std::shared_ptr<const Config> read{};  // what could still be read; null: it is no TOML
  // A line each, "file:line: message".
  [[nodiscard]] std::string describe() const;
};

using ConfigResult = std::expected<Config, ConfigFaults>;

// What a node runs on when there is no file.
[[nodiscard]] Config default_config();
// `file` is for messages, and what relative paths in it are relative to. Each of `settings` is "section.key=value" over
// what the file says, as --set gives them; a value that is not TOML is taken as a string.
[[nodiscard]] ConfigResult parse_config(std::string_view text, std::string_view file,
                                        const std::vector<std::string>& settings = {});
// Reads a file; with an empty path, the defaults.
[[nodiscard]] ConfigResult load_config(const std::string& path, const std::vector<std::string>& settings = {});

// What agents can do: as given, or for a function executor those of the role and its functions. Empty: what the
// executor says of itself (the hello of a stdio program), or else those of the role.
[[nodiscard]] std::vector<std::string> capabilities_of(const std::vector<std::string>& given, std::string_view role,
                                                       const ExecutorConfig& executor);

// A commented file that works without changes.
[[nodiscard]] std::string_view config_template();

}  // namespace skein::inline v0::node
