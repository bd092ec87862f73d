#include "skein/launcher/os_processes.hpp"

#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/os_io.hpp"
#include "skein/launcher/owner_watch.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::launcher {

OsProcesses::OsProcesses(Runtime& runtime, Launcher& launcher, OsProcessesOptions options)
    : io_(std::make_shared<OsIo>(runtime, launcher, std::move(options))) {
  io_->begin();
}

OsProcesses::~OsProcesses() { io_->end(); }

OsId OsProcesses::spawn(Pid owner, OsSpec spec) { return io_->spawn(owner, std::move(spec)); }
bool OsProcesses::write(OsId id, std::string bytes) { return io_->write(id, std::move(bytes)); }
void OsProcesses::close_stdin(OsId id) { io_->close_stdin(id); }
void OsProcesses::consumed(OsId id, std::size_t bytes) { io_->consumed(id, bytes); }
bool OsProcesses::signal(OsId id, int signal) { return io_->signal(id, signal); }
bool OsProcesses::terminate(OsId id, std::chrono::milliseconds grace) { return io_->terminate(id, grace); }
void OsProcesses::kill(OsId id) { io_->kill(id); }
OsCounts OsProcesses::counts() const { return io_->counts(); }
std::string OsProcesses::problem() const { return io_->problem(); }
const std::string& OsProcesses::containment() { return NodeGroup::here().describe(); }

ChildSpec OsProcesses::owner_watch() const { return child<OwnerWatch>("owner_watch", std::weak_ptr<OsIo>(io_)); }

std::string OsProcesses::private_problem() const { return io_->private_problem(); }
std::string OsProcesses::stderr_tail(OsId id, std::uint64_t from) const { return io_->stderr_tail(id, from); }
std::uint64_t OsProcesses::stderr_total(OsId id) const { return io_->stderr_total(id); }

}  // namespace skein::inline v0::launcher
