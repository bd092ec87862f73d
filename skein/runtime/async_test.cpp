#include "skein/runtime/async.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using namespace tests;

Async<int> answer() { co_return 42; }

Async<std::unique_ptr<int>> boxed() {
  auto asking = answer();
  const int value = co_await asking;
  co_return std::make_unique<int>(value);
}

Async<int> failing() {
  throw std::runtime_error("inside");
  co_return 0;
}

Async<std::string> catching() {
  auto trying = failing();
  try {
    const int value = co_await trying;
    co_return std::to_string(value);
  } catch (const std::runtime_error& error) {
    co_return error.what();
  }
}

// Runs a task outside of any process: nothing here waits.
template <class T>
T finish(Async<T> task) {
  const auto handle = task.release();
  handle.resume();
  EXPECT_TRUE(handle.done());
  struct Destroy {
    typename Async<T>::Handle handle;
    ~Destroy() { handle.destroy(); }
  } const destroy{handle};
  return handle.promise().take();
}

TEST(Async, hands_its_value_to_whoever_awaits_it) { EXPECT_EQ(*finish(boxed()), 42); }

TEST(Async, an_exception_leaves_through_the_await) {
  EXPECT_EQ(finish(catching()), "inside");
  EXPECT_THROW(finish(failing()), std::runtime_error);
}

Async<void> mark(Notebook* notebook) {
  notebook->add("ran");
  co_return;
}

TEST(Async, is_lazy_and_may_be_thrown_away) {
  Notebook notebook;
  {
    const Async<void> never = mark(&notebook);
    Async<void> moved = mark(&notebook);
    const Async<void> away = std::move(moved);
  }
  EXPECT_EQ(notebook.size(), 0U);
  finish(mark(&notebook));
  EXPECT_EQ(notebook.size(), 1U);
}

Async<int> depth(int levels) {
  if (levels == 0) co_return 0;
  auto below = depth(levels - 1);
  const int value = co_await below;
  co_return value + 1;
}

TEST(Async, nests_deeply) { EXPECT_EQ(finish(depth(1'000)), 1'000); }

// A frame larger than any pool block.
Async<int> roomy() {
  std::array<char, 5'000> room{};
  auto asking = answer();
  room[static_cast<std::size_t>(co_await asking)] = 7;
  co_return room[42];
}

TEST(Async, may_have_a_frame_larger_than_the_pools_blocks) { EXPECT_EQ(finish(roomy()), 7); }

}  // namespace
}  // namespace skein
