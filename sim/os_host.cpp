#include "sim/os_host.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/host_parts.hpp"

namespace skein::sim {

OsHost::OsHost(const std::string& folder_prefix, const std::string& mark_name)
    : folder_(make_folder(folder_prefix)), mark_(fmt::format("{}={:016x}", mark_name, random_number())) {}

void OsHost::begin(ledger::ChangeSink* sink) {
  auto opened = journal::open_journal(folder_, ledger_);
  if (!opened) throw std::runtime_error(opened.error().describe());
  journal_ = std::move(*opened);
  if (sink != nullptr) {
    journal_->read(journal::Read::local(), [this, sink](const journal::ReadAnswer&) { ledger_.add_sink(*sink); });
  }
  operations_ = operations::Operations::start({*journal_, ledger_, nullptr, jobs_, jobs_, random_number()});
  runtime_ = std::make_unique<Runtime>(two_workers());
  registry_ = std::make_shared<RegistryTable>(*runtime_);
  runtime_->spawn<Registry>(registry_);
  os_ = std::make_shared<launcher::OsProcesses>(*runtime_, launcher::Launcher::fork_early());
}

void OsHost::end() {
  operations_->stop();
  runtime_->shutdown();
  os_.reset();
  journal_->close();
  jobs_.stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<dispatch::DispatcherSetup> OsHost::dispatcher_setup() {
  auto setup = std::make_unique<dispatch::DispatcherSetup>();
  setup->runtime = runtime_.get();
  setup->journal = journal_.get();
  setup->ledger = &ledger_;
  setup->wall_clock = [this] { return jobs_.wall_now(); };
  setup->entropy = random_number;
  return setup;
}

}  // namespace skein::sim
