// What most verbs have in common: which node, how to print, what an error means for the exit code.
//
// Data goes to standard output, everything else to standard error. With --json an answer is one line of JSON, and what
// is followed or watched is a line each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/arguments.hpp"
#include "skein/control/client.hpp"

namespace skein::cli {

namespace json = boost::json;

// --data and --json, of every verb that talks to a node. Kept alive by the verb's call.
struct Session {
  std::string data;  // empty: SKEIN_DATA, or ./skein.toml's, or the default
  bool json = false;
  std::uint64_t timeout_ms = 60'000;
  std::string timeout_help = "Give up if the node does not answer within this time";

  // Adds the options.
  void add_to(Verb& verb);
  // Throws GaveUp with k_exit_config when ./skein.toml should name it and is wrong: another node must not be meant
  // then.
  [[nodiscard]] std::string data_folder() const;
  [[nodiscard]] std::chrono::milliseconds timeout() const { return std::chrono::milliseconds(timeout_ms); }
};
using SessionPtr = std::shared_ptr<Session>;

// Says what went wrong on standard error; the exit code for it. With --json it is a line of JSON there:
// {"error":{"code":"swarm_not_found","message":...,"advice":...,"exit":3}}.
int complain(const control::ClientError& error);
int complain(int code, std::string_view message);
// Set once, by main, before any verb runs.
void say_errors_as_json(bool as_json);
[[nodiscard]] bool errors_are_json();
// For programs: of an error that has no code of its own.
[[nodiscard]] std::string_view code_name(int exit_code);

// Connects to the node of this session within its --timeout.
[[nodiscard]] control::ClientResult<control::Client> connect(const Session& session);

// Connects, asks and hands the answer to `show`. With --json the answer is printed unchanged instead.
int ask_and_show(const Session& session, std::string_view op, const json::object& params,
                 const std::function<void(const json::value&)>& show);
void print_json(const json::value& value);

// Parts of an answer, with defaults for what is not there.
// For people: without what a terminal would obey, see shown_text.
[[nodiscard]] std::string text_of(const json::value& object, std::string_view key);
// For programs: as it was given.
[[nodiscard]] std::string raw_text_of(const json::value& object, std::string_view key);
[[nodiscard]] std::uint64_t count_of(const json::value& object, std::string_view key);
[[nodiscard]] double number_of(const json::value& object, std::string_view key);
[[nodiscard]] bool flag_of(const json::value& object, std::string_view key);
[[nodiscard]] const json::array& list_of(const json::value& object, std::string_view key);
[[nodiscard]] const json::value& part_of(const json::value& object, std::string_view key);

}  // namespace skein::cli
