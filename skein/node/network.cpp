#include "skein/node/network.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "skein/base/spare_descriptors.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_descriptors_kept = 160;         // for the journal, the archive, listeners and idle keepers
constexpr std::size_t k_descriptors_few = 1'000;        // less is worth a word
constexpr std::size_t k_descriptors_most = 10'000'000;  // no limit of the operating system counts for more

}  // namespace

std::shared_ptr<mcp::Login> login_of(const ContextPtr& context, const std::string& transport, const std::string& auth) {
  auto log = [weak = std::weak_ptr<NodeContext>(context), transport](const std::string& line) {
    if (const auto alive = weak.lock()) alive->log.warning(transport + ": " + line);
  };
  return std::make_shared<mcp::Login>(context->access, auth == "token", std::move(log));
}

std::shared_ptr<DescriptorBudget> make_descriptor_budget(std::size_t strangers_max, const Log& log) {
  rlimit limit{};
  std::size_t allowed = k_descriptors_most;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < allowed) {
    allowed = static_cast<std::size_t>(limit.rlim_cur);
  }
  DescriptorLimits limits;
  const std::size_t kept = k_descriptors_kept + k_spare_descriptors + limits.leaving_max;
  // Of very few the node leaves at least half to others; it may then be late with work that opens files.
  limits.total = allowed - std::min(kept, allowed / 2);
  limits.strangers_max = std::min(strangers_max, limits.total / 2);
  if (limits.total < k_descriptors_few) {
    log.warning(
        fmt::format("only {} descriptors for connections and programs of agents: the limit on open files is {} "
                    "(ulimit -n)",
                    limits.total, allowed));
  }
  spare_descriptors().refill();
  return std::make_shared<DescriptorBudget>(limits);
}

std::function<void(const std::string&)> connection_trace(const ContextPtr& context) {
  return [weak = std::weak_ptr<NodeContext>(context)](const std::string& where) {
    const auto alive = weak.lock();
    if (alive && alive->log.level() <= LogLevel::debug) alive->log.debug(where + ": a client is connected");
  };
}

std::function<void(const std::string&, const std::string&)> refusal_trace(const ContextPtr& context) {
  return [weak = std::weak_ptr<NodeContext>(context)](const std::string& where, std::string words) {
    const auto alive = weak.lock();
    if (!alive || alive->log.level() > LogLevel::debug) return;
    while (!words.empty() && words.back() == '\n') words.pop_back();
    alive->log.debug(fmt::format("{}: a client was refused: {}", where, words));
  };
}

std::function<void(const std::string&)> connection_log(const ContextPtr& context) {
  return [weak = std::weak_ptr<NodeContext>(context)](const std::string& line) {
    if (const auto alive = weak.lock()) alive->log.warning(line);
  };
}

}  // namespace skein::inline v0::node
