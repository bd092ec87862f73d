#include "skein/registry/place_array.hpp"

#include <sys/mman.h>

#include <new>

namespace skein::inline v0::detail {
namespace {

// From this size on an array is a mapping of its own, aligned to and made of huge pages if the system gives them: a
// lookup goes anywhere in it, and would miss the TLB each time.
constexpr std::size_t k_large = std::size_t{2} << 20U;

void* map_large(std::size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes + k_large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t aligned = (begin + k_large - 1) & ~(k_large - 1);
  if (aligned != begin) ::munmap(memory, aligned - begin);
  auto* places = reinterpret_cast<std::byte*>(aligned);  // NOLINT(performance-no-int-to-ptr)
  if (begin + k_large != aligned) ::munmap(places + bytes, begin + k_large - aligned);
  ::madvise(places, bytes, MADV_HUGEPAGE);
  return places;
}

}  // namespace

// Fresh pages are zero, which is what an array of empty places is.
PlaceArray::PlaceArray(std::size_t capacity) : mask_(capacity - 1), passed_(capacity) {
  if (is_large()) {
    places_ = static_cast<Place*>(map_large(bytes()));
  } else {
    places_ = new Place[capacity];
  }
}

PlaceArray::~PlaceArray() {
  if (is_large()) {
    ::munmap(places_, bytes());
  } else {
    delete[] places_;
  }
}

bool PlaceArray::is_large() const { return bytes() >= k_large; }

void PlaceArray::clear() {
  passed_.assign(capacity(), false);
  if (is_large() && ::madvise(places_, bytes(), MADV_DONTNEED) == 0) return;
  for (std::size_t i = 0; i < capacity(); ++i) places_[i].ref.store(Place::k_empty, std::memory_order_release);
}

}  // namespace skein::inline v0::detail
