#include "skein/base/spare_descriptors.hpp"

#include <fcntl.h>

namespace skein::inline v0 {

std::size_t SpareDescriptors::refill() {
  const std::scoped_lock lock(mutex_);
  while (held_.size() < wanted_) {
    Fd fd(held_.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : ::fcntl(held_[0].get(), F_DUPFD_CLOEXEC, 0));
    if (!fd) break;
    held_.push_back(std::move(fd));
  }
  return held_.size();
}

std::size_t SpareDescriptors::held() const {
  const std::scoped_lock lock(mutex_);
  return held_.size();
}

bool SpareDescriptors::give_up_one() {
  const std::scoped_lock lock(mutex_);
  if (held_.empty()) {
    errno = EMFILE;
    return false;
  }
  held_.pop_back();
  return true;
}

SpareDescriptors& spare_descriptors() {
  static SpareDescriptors spares;
  return spares;
}

}  // namespace skein::inline v0
