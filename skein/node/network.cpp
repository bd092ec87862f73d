#include "skein/node/network.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace skein::inline v0::node {
namespace {

constexpr rlim_t k_descriptors_kept = 256;  // from clients, for the journal, the archive and agents

}  // namespace

std::shared_ptr<mcp::Login> login_of(const ContextPtr& context, const std::string& transport, const std::string& auth) {
  auto log = [weak = std::weak_ptr<NodeContext>(context), transport](const std::string& line) {
    if (const auto alive = weak.lock()) alive->log.warning(transport + ": " + line);
  };
  return std::make_shared<mcp::Login>(auth == "token" ? context->token : std::string(), std::move(log));
}

std::uint32_t connections_with_descriptors(const NodeContext& context, const std::string& transport,
                                           std::uint32_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t room = limit.rlim_cur - std::min(k_descriptors_kept, limit.rlim_cur / 2);
  if (room >= wanted) return wanted;
  context.log.warning(fmt::format("{}: only {} connections at once, not {}: the limit on open files is {} (ulimit -n)",
                                  transport, room, wanted, limit.rlim_cur));
  return static_cast<std::uint32_t>(room);
}

}  // namespace skein::inline v0::node
