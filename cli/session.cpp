#include "cli/session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/patience.hpp"
#include "cli/terminal.hpp"
#include "skein/base/utf8.hpp"
#include "skein/node/config.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::cli {

namespace {

bool g_errors_are_json = false;

void say_as_json(std::string_view name, std::string_view message, std::string_view advice, std::uint64_t retry_after_ms,
                 int code) {
  json::object error{{"code", name}, {"message", message}};
  if (!advice.empty()) error["advice"] = advice;
  if (retry_after_ms > 0) error["retry_after_ms"] = retry_after_ms;
  error["exit"] = code;
  fmt::print(stderr, "{}\n", escaped_json(operations::json_text(json::object{{"error", std::move(error)}})));
}

}  // namespace

void Session::add_to(Verb& verb) {
  verb.filled("--data", data, "Data folder of the node");
  verb.flag("--json", json, "Print JSON");
  verb.time("--timeout", timeout_ms, timeout_help);
}

std::string Session::data_folder() const {
  if (!data.empty()) return data;
  if (const char* given = std::getenv("SKEIN_DATA"); given != nullptr && *given != '\0') return given;
  // Of the node whose agent this was started by.
  if (const char* given = std::getenv("SKEIN_SOCKET"); given != nullptr && *given != '\0') {
    return std::filesystem::path(given).parent_path().string();
  }
  if (std::filesystem::exists(node::k_config_file)) {
    const auto config = node::load_config(std::string(node::k_config_file));
    if (!config) {
      throw GaveUp(k_exit_config, fmt::format("{} is wrong, so the node's data folder is not known: 'skein config "
                                              "check' says what is wrong with it, --data names a folder",
                                              node::k_config_file));
    }
    if (!config->node.data.empty()) return config->node.data;
  }
  return node::default_data_folder();
}

control::ClientResult<control::Client> connect(const Session& session) {
  return control::Client::connect(session.data_folder(), session.timeout());
}

void say_errors_as_json(bool as_json) { g_errors_are_json = as_json; }
bool errors_are_json() { return g_errors_are_json; }

std::string_view code_name(int exit_code) {
  switch (exit_code) {
    case k_exit_usage:
      return "usage";
    case k_exit_not_found:
      return "not_found";
    case k_exit_timeout:
      return "timeout";
    case k_exit_unreachable:
      return "unreachable";
    case k_exit_task_failed:
      return "task_failed";
    case k_exit_refused:
      return "refused";
    case k_exit_config:
      return "config";
    case k_exit_in_use:
      return "in_use";
    default:
      return "failed";
  }
}

int complain(int code, std::string_view message) {
  std::fflush(stdout);
  if (g_errors_are_json) {
    say_as_json(code_name(code), message, "", 0, code);
  } else {
    fmt::print(stderr, "skein: {}\n", message);
  }
  return code;
}

int complain(const control::ClientError& error) {
  int code = k_exit_unreachable;
  if (error.kind == control::ClientError::Kind::timeout) code = k_exit_timeout;
  if (error.kind == control::ClientError::Kind::refused) {
    const bool invalid = error.code == "invalid" || error.code == "invalid_json" || error.code == "too_large" ||
                         error.code == "bad_cursor";
    code = error.code.ends_with("_not_found") ? k_exit_not_found : invalid ? k_exit_usage : k_exit_refused;
  }
  const std::string& advice = error.advice;
  if (g_errors_are_json) {
    std::fflush(stdout);
    say_as_json(error.code.empty() ? code_name(code) : std::string_view(error.code), error.message, advice,
                error.retry_after_ms, code);
    return code;
  }
  std::string text = error.message;
  if (!advice.empty()) text += fmt::format(": {}", advice);
  if (error.retry_after_ms > 0) text += fmt::format(" (again in {} ms)", error.retry_after_ms);
  return complain(code, text);
}

void print_json(const json::value& value) {
  std::string line = operations::json_text(value) + "\n";
  if (is_terminal(stdout)) line = escaped_json(line);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

int ask_and_show(const Session& session, std::string_view op, const json::object& params,
                 const std::function<void(const json::value&)>& show) {
  auto client = connect(session);
  if (!client) return complain(client.error());
  const auto answer = client->ask(op, params, session.timeout());
  if (!answer) return complain(answer.error());
  if (session.json) {
    print_json(*answer);
  } else {
    show(*answer);
  }
  return k_exit_ok;
}

const json::value& part_of(const json::value& object, std::string_view key) {
  static const json::value k_nothing;
  const json::object* members = object.if_object();
  const json::value* found = members != nullptr ? members->if_contains(key) : nullptr;
  return found != nullptr ? *found : k_nothing;
}

std::string text_of(const json::value& object, std::string_view key) {
  const std::string raw = raw_text_of(object, key);
  return shown_text(raw, raw.size());
}

std::string raw_text_of(const json::value& object, std::string_view key) {
  const json::value& value = part_of(object, key);
  if (value.is_null()) return "";
  const auto* string = value.if_string();
  if (string != nullptr && !operations::written_number(value)) return std::string(*string);
  return operations::json_text(value);
}

std::uint64_t count_of(const json::value& object, std::string_view key) {
  json::error_code error;
  const auto number = part_of(object, key).to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

double number_of(const json::value& object, std::string_view key) {
  json::error_code error;
  const auto number = part_of(object, key).to_number<double>(error);
  return error ? 0 : number;
}

bool flag_of(const json::value& object, std::string_view key) {
  const bool* flag = part_of(object, key).if_bool();
  return flag != nullptr && *flag;
}

const json::array& list_of(const json::value& object, std::string_view key) {
  static const json::array k_none;
  const json::array* list = part_of(object, key).if_array();
  return list != nullptr ? *list : k_none;
}

}  // namespace skein::cli
