// A place where one process leaves an object for others, and removes it when the process ends. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace skein::inline v0::node {

template <class T>
class SharedSlot {
 public:
  [[nodiscard]] std::shared_ptr<T> get() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }
  // The previous value is released outside the lock: its destructor may take a while.
  void set(std::shared_ptr<T> value) {
    const std::scoped_lock lock(mutex_);
    value_.swap(value);
  }
  // Only if it is still this one.
  void clear(const T* mine) {
    std::shared_ptr<T> old;
    const std::scoped_lock lock(mutex_);
    if (value_.get() == mine) value_.swap(old);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<T> value_;
};

}  // namespace skein::inline v0::node
