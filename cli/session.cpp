#include "cli/session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/terminal.hpp"
#include "skein/base/utf8.hpp"
#include "skein/node/config.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::cli {

void Session::add_to(Verb& verb) {
  verb.option("--data", data, "Data folder of the node");
  verb.flag("--json", json, "Print JSON");
  verb.time("--timeout", timeout_ms, timeout_help);
}

std::string Session::data_folder() const {
  if (!data.empty()) return data;
  if (const char* given = std::getenv("SKEIN_DATA"); given != nullptr && *given != '\0') return given;
  if (std::filesystem::exists(node::k_config_file)) {
    const auto config = node::load_config(std::string(node::k_config_file));
    if (config && !config->node.data.empty()) return config->node.data;
    if (!config) {
      fmt::print(stderr, "skein: {} has errors ('skein config check' lists them), so its data folder is not known\n",
                 node::k_config_file);
    }
  }
  return node::default_data_folder();
}

int complain(int code, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "skein: {}\n", message);
  return code;
}

int complain(const control::ClientError& error) {
  std::string text = error.message;
  if (!error.advice.empty()) text += ": " + error.advice;
  if (error.retry_after_ms > 0) text += fmt::format(" (again in {} ms)", error.retry_after_ms);
  int code = k_exit_unreachable;
  if (error.kind == control::ClientError::Kind::timeout) code = k_exit_timeout;
  if (error.kind == control::ClientError::Kind::refused) {
    const bool invalid = error.code == "invalid" || error.code == "invalid_json" || error.code == "too_large" ||
                         error.code == "bad_cursor";
    code = error.code.ends_with("_not_found") ? k_exit_not_found : invalid ? k_exit_usage : k_exit_refused;
  }
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
  auto client = control::Client::connect(session.data_folder());
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
