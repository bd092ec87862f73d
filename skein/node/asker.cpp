#include "skein/node/asker.hpp"

#include <fmt/format.h>

#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::node {
namespace {

constexpr Duration k_asker_shutdown = std::chrono::seconds(2);

}  // namespace

ChildSpec asker_template() {
  return pool_child<Asker, std::shared_ptr<Asker::Body>>("asker")
      .with(Restart::temporary)
      .with(Shutdown::after(k_asker_shutdown));
}

Async<void> AskerDesk::handle_info(Self self, Message message) {
  const auto* ask = message.get_if<Ask>();
  if (ask == nullptr) co_return;
  std::any arguments = pool_arguments(ask->body);
  auto starting = start_pool_child(self, self.whereis(k_askers_name), std::move(arguments), k_call_timeout);
  const StartChildResult started = co_await starting;
  ++(started ? started_ : failed_);
}

std::string AskerDesk::describe() const { return fmt::format("{} started, {} failed", started_, failed_); }

}  // namespace skein::inline v0::node
