#include "skein/node/executor_identity.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <vector>

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_record_bytes = std::size_t{64} << 10U;
constexpr int k_groups = 1'024;  // of one user, that are handed on

std::optional<std::uint32_t> number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // The kernel takes the last one for "do not change it".
  if (error != std::errc() || end != text.data() + text.size() || number == UINT32_MAX) return std::nullopt;
  return number;
}

struct Account {
  std::string name;  // empty: a number that nobody has
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<Account> account_of(const std::string& user) {
  std::vector<char> room(k_record_bytes);
  passwd record{};
  passwd* found = nullptr;
  const auto number = number_in(user);
  if (number) {
    ::getpwuid_r(*number, &record, room.data(), room.size(), &found);
  } else {
    ::getpwnam_r(user.c_str(), &record, room.data(), room.size(), &found);
  }
  if (found != nullptr) return Account{found->pw_name, found->pw_uid, found->pw_gid};
  if (number) return Account{{}, *number, *number};
  return std::nullopt;
}

std::optional<gid_t> group_of(const std::string& group) {
  if (const auto number = number_in(group)) return number;
  std::vector<char> room(k_record_bytes);
  ::group record{};
  ::group* found = nullptr;
  ::getgrnam_r(group.c_str(), &record, room.data(), room.size(), &found);
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
}

std::unexpected<std::string> identity_fault(const std::string& name, const char* key, const std::string& value,
                                            std::string_view why) {
  return std::unexpected(fmt::format("[executors.{}] {} = \"{}\": {}", name, key, value, why));
}

}  // namespace

std::expected<std::optional<launcher::OsUser>, std::string> user_of(const ExecutorConfig& config,
                                                                    const std::string& name, uid_t own) {
  if (config.user.empty() && config.group.empty()) return std::nullopt;
  const char* key = config.user.empty() ? "group" : "user";
  if (own != 0) {
    return identity_fault(name, key, config.user.empty() ? config.group : config.user,
                          "only a node that runs as root can start programs as another user; run the node as root, or "
                          "remove the key and use isolate = \"private\"");
  }
  launcher::OsUser made;
  if (!config.user.empty()) {
    const auto account = account_of(config.user);
    if (!account) return identity_fault(name, "user", config.user, "there is no such user on this machine");
    made.uid = account->uid;
    made.gid = account->gid;
    made.groups = {account->gid};
    if (!account->name.empty()) {
      made.groups.resize(k_groups);
      int count = k_groups;
      if (::getgrouplist(account->name.c_str(), account->gid, made.groups.data(), &count) < 0) count = k_groups;
      made.groups.resize(static_cast<std::size_t>(count));
    }
  }
  if (!config.group.empty()) {
    const auto group = group_of(config.group);
    if (!group) return identity_fault(name, "group", config.group, "there is no such group on this machine");
    made.gid = *group;
    made.groups = {*group};
  }
  return made;
}

std::optional<mode_t> parse_umask(std::string_view text) {
  constexpr mode_t k_most = 0777;
  constexpr int k_octal = 8;
  mode_t mask = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mask, k_octal);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || mask > k_most) return std::nullopt;
  return mask;
}

std::expected<bool, std::string> is_private(const ExecutorConfig& config, const std::string& name,
                                            const std::string& problem, uid_t own) {
  if (config.isolate == "none") return false;
  if (config.isolate == "auto") return own != 0 && problem.empty();
  if (problem.empty()) return true;
  return identity_fault(
      name, "isolate", config.isolate,
      fmt::format("a private view is not possible here: {}; set isolate = \"none\" to run its agents without",
                  problem));
}

std::string exposure_of(const std::string& name, const ExecutorIdentity& identity, const std::string& problem,
                        uid_t own) {
  const uid_t runs_as = identity.user ? identity.user->uid : own;
  if (runs_as != own || (identity.is_private && own != 0)) return {};
  if (identity.is_private) {
    return fmt::format(
        "executor '{}': its agents run as root; they do not see the data folder, but root can still read the disk "
        "itself: set a user for it",
        name);
  }
  const char* advice = own == 0 ? "give it a user, or isolate = \"private\"" : "isolate = \"private\" keeps them apart";
  return fmt::format(
      "executor '{}': its agents run as the node's own user and see the data folder: they can read the token and do "
      "all that the owner can; {}{}",
      name, advice, problem.empty() ? "" : fmt::format(" (not possible here: {})", problem));
}

}  // namespace skein::inline v0::node
