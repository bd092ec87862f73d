#include "skein/node/last_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "skein/base/fd.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_last_run_bytes_max = 64ULL << 10U;

std::string last_run_path(const std::string& data) { return data + "/" + k_last_run_file; }

std::string failed_with(const std::string& path) { return fmt::format("{}: {}", path, std::strerror(errno)); }

}  // namespace

std::optional<LastRun> read_last_run(const std::string& data) {
  std::ifstream file(last_run_path(data));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty() || text.size() > k_last_run_bytes_max) return std::nullopt;
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  const boost::json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const auto text_at = [&](const char* key) {
    const boost::json::value* found = object->if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
  };
  LastRun run;
  run.is_operator = text_at("started_by") != "mcp";
  run.config = text_at("config");
  run.command = text_at("command");
  const boost::json::value* at = object->if_contains("stopped_at");
  run.has_stopped = at != nullptr && at->is_int64();
  if (run.has_stopped) run.stopped_at = at->get_int64();
  return run;
}

std::string write_last_run(const std::string& data, const LastRun& run) {
  boost::json::object object{
      {"started_by", run.is_operator ? "operator" : "mcp"}, {"config", run.config}, {"command", run.command}};
  if (run.has_stopped) object["stopped_at"] = run.stopped_at;
  const std::string text = boost::json::serialize(object) + "\n";
  if (!run.is_operator) {
    if (const auto before = read_last_run(data); before && before->is_operator) return {};
  }
  const std::string path = last_run_path(data);
  const std::string fresh = path + ".new";
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file) return failed_with(fresh);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return failed_with(fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed_with(path);
  return {};
}

bool is_unnamed_folder(const std::string& data) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder(data);
  return fs::exists(folder / "journal", error) && !fs::exists(folder / k_last_run_file, error) &&
         !fs::exists(folder / k_bridge_log_file, error);
}

StartRight right_to_start(const std::optional<LastRun>& last, const std::string& config, std::int64_t now_ms,
                          bool is_unnamed) {
  if (!last && is_unnamed && config.empty()) {
    return {false,
            "an earlier release ran a node here and did not record its config; start the node once with 'skein up "
            "CONFIG', or give 'skein mcp' the config file, or --take-over to run a node without one"};
  }
  if (!last || !last->is_operator) return {true, {}};
  const std::string advice = fmt::format("start it with '{}'", last->command);
  if (!last->has_stopped) {
    return {false, fmt::format("the node that an operator runs here is not running: {}", advice)};
  }
  const std::int64_t since_ms = now_ms - last->stopped_at;
  if (since_ms >= 0 && since_ms < std::chrono::milliseconds(k_operator_back).count()) {
    return {false, fmt::format("the operator's node was stopped here and may be restarting; if it is not, {}", advice)};
  }
  if (last->config == config) return {true, {}};
  return {
      false,
      fmt::format("an operator runs the node here with {}, which this command would not use: {}, or give 'skein mcp' "
                  "--take-over to run one without it",
                  last->config.empty() ? "no config file" : last->config, advice)};
}

}  // namespace skein::inline v0::node
