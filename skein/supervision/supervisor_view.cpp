#include "skein/supervision/supervisor_view.hpp"

#include <map>

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
  std::weak_ptr<const void> life;  // of the runtime
  boost::unordered_flat_map<Pid, std::weak_ptr<SupervisorView>, std::hash<Pid>> views;
};

// One for the program: a Runtime has no room for what the layers above keep about it.
struct Directories {
  std::mutex mutex;
  std::map<const void*, Directory> by_runtime;
};

Directories& directories() {
  static Directories all;
  return all;
}

Directory& directory_of(Directories& all, inspect::RuntimeRef runtime) {
  const void* const key = runtime.key();
  Directory& found = all.by_runtime[key];
  if (found.life.lock().get() != key) {
    // A new runtime, perhaps where a dead one was. A good moment to forget the others that are gone.
    std::erase_if(all.by_runtime, [&](const auto& each) { return each.first != key && each.second.life.expired(); });
    Directory& fresh = all.by_runtime[key];
    fresh.views.clear();
    fresh.life = runtime.life();
    return fresh;
  }
  return found;
}

}  // namespace

void publish_view(inspect::RuntimeRef runtime, Pid pid, const std::shared_ptr<SupervisorView>& view) {
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  directory_of(all, runtime).views.insert_or_assign(pid, view);
}

void withdraw_view(inspect::RuntimeRef runtime, Pid pid) {
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.by_runtime.find(runtime.key());
  if (found != all.by_runtime.end()) found->second.views.erase(pid);
}

std::shared_ptr<SupervisorView> find_view(inspect::RuntimeRef runtime, Pid pid) {
  if (!pid) return nullptr;
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  Directory& directory = directory_of(all, runtime);
  const auto found = directory.views.find(pid);
  return found == directory.views.end() ? nullptr : found->second.lock();
}

}  // namespace detail
}  // namespace skein::inline v0
