// OwnerWatch: the process that learns of the death of owners, so that their OS processes end with them. After a
// restart it is told of all owners there are, also of those that died meanwhile.
#pragma once

#include <memory>
#include <utility>

#include "skein/launcher/os_io.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0::launcher {

struct WatchOwner {
  Pid owner;
};

class OwnerWatch {
 public:
  OwnerWatch(Self self, std::weak_ptr<OsIo> io) : io_(std::move(io)) {
    if (const auto alive = io_.lock()) alive->watch_owners_by(self.pid());
  }

  void handle_info(Self self, Message message) {
    if (const auto* watch = message.get_if<WatchOwner>()) {
      // The requester makes sure that each owner is watched once; a Down is matched by the owner's Pid.
      [[maybe_unused]] const MonitorRef ref = self.monitor(watch->owner);
    } else if (const auto* down = message.get_if<Down>()) {
      if (const auto io = io_.lock()) io->owner_died(down->pid);
    }
  }

 private:
  std::weak_ptr<OsIo> io_;
};

}  // namespace skein::inline v0::launcher
