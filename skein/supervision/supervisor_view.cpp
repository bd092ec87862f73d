#include "skein/supervision/supervisor_view.hpp"

#include <map>

#include "skein/runtime/core.hpp"

namespace skein::inline v0 {

void SupervisorView::hand_over(std::shared_ptr<SupervisorView> view, Remains remains) {
  while (view != nullptr) {
    std::shared_ptr<SupervisorView> above;
    {
      const std::scoped_lock lock(view->remains_mutex_);
      if (!view->closed_) {
        view->remains_.push_back(std::move(remains));
        view->any_remains_.store(true, std::memory_order_release);
        return;
      }
      above = view->parent;
    }
    view = std::move(above);
  }
}

std::vector<Remains> SupervisorView::take_remains() {
  const std::scoped_lock lock(remains_mutex_);
  any_remains_.store(false, std::memory_order_relaxed);
  return std::exchange(remains_, {});
}

void SupervisorView::close(Remains remains) {
  // Held while handing over: what comes from below must not overtake it on the way up.
  const std::scoped_lock lock(remains_mutex_);
  for (const Remains& below : remains_) remains.pids.insert(remains.pids.end(), below.pids.begin(), below.pids.end());
  remains_.clear();
  closed_ = true;
  if (!remains.pids.empty()) hand_over(parent, std::move(remains));
}

namespace detail {
namespace {

struct Directory {
  std::weak_ptr<Core> core;
  boost::unordered_flat_map<Pid, std::weak_ptr<SupervisorView>, std::hash<Pid>> views;
};

// One for the program: a Runtime has no room for what the layers above keep about it.
struct Directories {
  std::mutex mutex;
  std::map<const Core*, Directory> by_core;
};

Directories& directories() {
  static Directories all;
  return all;
}

Directory& directory_of(Directories& all, Core& core) {
  Directory& found = all.by_core[&core];
  if (found.core.lock().get() != &core) {
    // A new runtime, perhaps where a dead one was. A good moment to forget the others that are gone.
    std::erase_if(all.by_core, [&](const auto& each) { return each.first != &core && each.second.core.expired(); });
    Directory& fresh = all.by_core[&core];
    fresh.views.clear();
    fresh.core = core.weak_from_this();
    return fresh;
  }
  return found;
}

}  // namespace

void publish_view(Core& core, Pid pid, const std::shared_ptr<SupervisorView>& view) {
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  directory_of(all, core).views.insert_or_assign(pid, view);
}

void withdraw_view(Core& core, Pid pid) {
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.by_core.find(&core);
  if (found != all.by_core.end()) found->second.views.erase(pid);
}

std::shared_ptr<SupervisorView> find_view(Core& core, Pid pid) {
  if (!pid) return nullptr;
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  Directory& directory = directory_of(all, core);
  const auto found = directory.views.find(pid);
  return found == directory.views.end() ? nullptr : found->second.lock();
}

}  // namespace detail
}  // namespace skein::inline v0
