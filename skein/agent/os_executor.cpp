#include "skein/agent/os_executor.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "skein/base/utf8.hpp"

namespace skein::inline v0::agent {
namespace {

constexpr Duration k_least_rung = std::chrono::milliseconds(1);
constexpr Duration k_wind_down_look = std::chrono::milliseconds(10);
constexpr std::string_view k_masked = "[SKEIN_TOKEN]";
constexpr std::size_t k_secret_end_min = 8;  // a shorter end of a secret gives nothing away

}  // namespace

std::vector<std::string> build_environment(
    const std::vector<std::string>& allowed, const std::map<std::string, std::string>& set,
    const std::function<std::optional<std::string>(const std::string&)>& lookup) {
  const auto is_name = [](const std::string& name) { return !name.empty() && name.find('=') == std::string::npos; };
  std::vector<std::string> environment;
  for (const auto& name : allowed) {
    if (!is_name(name) || set.contains(name)) continue;
    if (const auto value = lookup(name)) environment.push_back(fmt::format("{}={}", name, *value));
  }
  for (const auto& [name, value] : set) {
    if (is_name(name)) environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

std::string masked(std::string_view text, std::string_view secret) {
  std::string out;
  if (secret.empty()) return out.append(text);
  for (std::size_t cut = 1; cut + k_secret_end_min <= secret.size(); ++cut) {
    if (!text.starts_with(secret.substr(cut))) continue;
    out = k_masked;
    text.remove_prefix(secret.size() - cut);
    break;
  }
  for (std::size_t at = text.find(secret); at != std::string_view::npos; at = text.find(secret)) {
    out.append(text.substr(0, at)).append(k_masked);
    text.remove_prefix(at + secret.size());
  }
  return out.append(text);
}

std::string shown_tail(std::string_view written, std::size_t bytes_max, std::string_view secret) {
  const std::string without = masked(written, secret);  // before it is cut: a part of a secret is one, too
  std::string_view stderr_tail = without;
  while (!stderr_tail.empty() && (stderr_tail.back() == '\n' || stderr_tail.back() == ' '))
    stderr_tail.remove_suffix(1);
  if (stderr_tail.size() > bytes_max) stderr_tail.remove_prefix(stderr_tail.size() - bytes_max);
  // Not from the middle of a character.
  while (!stderr_tail.empty() && (static_cast<unsigned char>(stderr_tail[0]) & 0xC0U) == 0x80U)
    stderr_tail.remove_prefix(1);
  return shown_text(stderr_tail, bytes_max);
}

std::string how_it_ended(const launcher::OsExited& exited, std::string_view secret, std::uint64_t stderr_from) {
  std::string text;
  if (exited.launcher_died) {
    text = "it was killed together with its launcher";
  } else if (exited.signalled) {
    const char* name = sigabbrev_np(exited.code);
    text = fmt::format("killed by SIG{} ({})", name == nullptr ? "?" : name, exited.code);
  } else {
    text = fmt::format("exit code {}", exited.code);
  }
  std::string_view written = exited.stderr_tail;
  const std::uint64_t before = exited.stderr_total - std::min<std::uint64_t>(written.size(), exited.stderr_total);
  if (stderr_from > before) {
    written.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(stderr_from - before, written.size())));
  }
  if (const std::string tail = shown_tail(written, k_stderr_kept_max, secret); !tail.empty()) text += ": " + tail;
  return text;
}

OsChild::OsChild(std::shared_ptr<launcher::OsProcesses> os, std::shared_ptr<const OsExecutorOptions> options)
    : os_(std::move(os)), options_(std::move(options)) {}

void OsChild::spawn(Self self, const std::vector<std::string>& more_environment) {
  launcher::OsSpec spec;
  spec.argv = options_->command;
  spec.environment = options_->environment;
  spec.environment.insert(spec.environment.end(), more_environment.begin(), more_environment.end());
  spec.directory = options_->directory;
  spec.limits = options_->limits;
  spec.user = options_->user;
  spec.umask = options_->umask;
  spec.no_new_privs = options_->no_new_privs;
  spec.is_private = options_->is_private;
  spec.stdin_bytes_max = options_->stdin_bytes;
  spec.stderr_ring = options_->stderr_bytes;
  id_ = os_->spawn(self.pid(), std::move(spec));
  pid_ = 0;
  is_stopping_ = is_ending_ = false;
}

std::string OsChild::described() const {
  if (pid_ != 0 || id_ == 0) return fmt::format("pid {}", pid_);
  const std::string problem = os_->problem();
  return problem.empty() ? "about to start" : "waiting to be started: " + problem;
}

void OsChild::terminate(Duration grace) const {
  os_->terminate(id_, std::chrono::ceil<std::chrono::milliseconds>(grace));
}

void OsChild::stop(Self self, Duration first, Duration second) {
  if (id_ == 0 || is_stopping_) return;
  is_stopping_ = true;
  self.send_after(first, self.pid(), Rung{id_, ++ladder_, std::max(second, k_least_rung)});
}

Duration OsChild::wind_down(Instant now, Duration first) {
  // Also while its start is under way: then it gets what is sent to it once it runs.
  if (id_ == 0 || !os_->signal(id_, 0)) return Duration::zero();
  if (!winds_down_since_) winds_down_since_ = now;
  const Duration took = between(*winds_down_since_, now);
  if (took >= first + options_->end_kill_after) {
    kill();
    return Duration::zero();
  }
  if (took >= first && !std::exchange(has_wound_term_, true)) terminate(options_->end_kill_after);
  return k_wind_down_look;
}

bool OsChild::handle(Self self, Message message) {
  if (const auto* started = message.get_if<launcher::OsStarted>()) {
    if (started->id == id_) pid_ = started->pid;
    return false;
  }
  const auto* rung = message.get_if<Rung>();
  if (rung == nullptr) return false;
  if (rung->id != id_ || rung->ladder != ladder_ || !is_stopping_) return true;
  if (rung->next == Duration::zero()) {
    os_->kill(id_);
  } else {
    is_ending_ = true;
    terminate(rung->next);
    self.send_after(rung->next, self.pid(), Rung{id_, ladder_, {}});
  }
  return true;
}

void OsChild::forget() {
  id_ = 0;
  pid_ = 0;
  is_stopping_ = is_ending_ = false;
}

}  // namespace skein::inline v0::agent
