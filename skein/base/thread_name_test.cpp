#include "skein/base/thread_name.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <string>
#include <thread>

namespace skein::inline v0 {
namespace {

std::string shown_as(std::string_view name) {
  std::array<char, 16> text{};
  std::thread([&] {
    name_this_thread(name);
    ::pthread_getname_np(::pthread_self(), text.data(), text.size());
  }).join();
  return text.data();
}

TEST(ThreadName, is_what_the_kernel_shows) { EXPECT_EQ(shown_as("skein-poller"), "skein-poller"); }

TEST(ThreadName, is_cut_off_where_the_kernel_takes_no_more) {
  EXPECT_EQ(shown_as("skein-with-a-long-name"), "skein-with-a-lo");
}

}  // namespace
}  // namespace skein::inline v0
