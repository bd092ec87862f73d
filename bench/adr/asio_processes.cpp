// The work of skein-bench runtime (ping_pong, spawn_exit, idle_memory) with Boost.Asio: a process is a coroutine with a
// channel, on a pool of two threads. For docs/adr/0004-runtime.md. Not part of the build:
//
//   g++ -O2 -std=c++20 -Wno-mismatched-new-delete bench/adr/asio_processes.cpp -lpthread -o build/asio_processes
//   build/asio_processes ping_pong|spawn_exit|idle_memory
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Channel = asio::experimental::concurrent_channel<void(boost::system::error_code, int)>;
using asio::use_awaitable;

constexpr int k_threads = 2;
constexpr int k_roundtrips = 500'000;
constexpr int k_spawned = 500'000;
constexpr int k_idle = 100'000;

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

asio::awaitable<void> pong(std::shared_ptr<Channel> in, std::shared_ptr<Channel> out) {
  while (true) {
    const int got = co_await in->async_receive(use_awaitable);
    if (got < 0) co_return;
    co_await out->async_send(boost::system::error_code{}, got, use_awaitable);
  }
}

asio::awaitable<void> ping(std::shared_ptr<Channel> in, std::shared_ptr<Channel> out) {
  for (int i = 0; i < k_roundtrips; ++i) {
    co_await out->async_send(boost::system::error_code{}, i, use_awaitable);
    co_await in->async_receive(use_awaitable);
  }
  co_await out->async_send(boost::system::error_code{}, -1, use_awaitable);
}

asio::awaitable<void> waits(std::shared_ptr<Channel> in) { co_await in->async_receive(use_awaitable); }

asio::awaitable<void> ends() { co_return; }

double ping_pong() {
  asio::thread_pool pool(k_threads);
  const auto there = std::make_shared<Channel>(pool, 16);
  const auto back = std::make_shared<Channel>(pool, 16);
  const auto begin = Clock::now();
  asio::co_spawn(pool, pong(there, back), asio::detached);
  asio::co_spawn(pool, ping(back, there), asio::detached);
  pool.join();
  return k_roundtrips / std::chrono::duration<double>(Clock::now() - begin).count();
}

double spawn_exit() {
  asio::thread_pool pool(k_threads);
  const auto begin = Clock::now();
  for (int i = 0; i < k_spawned; ++i) asio::co_spawn(pool, ends(), asio::detached);
  pool.join();
  return k_spawned / std::chrono::duration<double>(Clock::now() - begin).count();
}

double idle_memory() {
  asio::thread_pool pool(k_threads);
  std::vector<std::shared_ptr<Channel>> channels;
  channels.reserve(k_idle);
  const double before = resident_bytes();
  for (int i = 0; i < k_idle; ++i) {
    channels.push_back(std::make_shared<Channel>(pool, 16));
    asio::co_spawn(pool, waits(channels.back()), asio::detached);
  }
  asio::steady_timer settled(pool, std::chrono::seconds(1));
  settled.wait();
  const double each = (resident_bytes() - before) / k_idle;
  for (const auto& channel : channels) channel->close();
  pool.join();
  return each;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "ping_pong") {
    std::printf("asio ping_pong roundtrip/s %.0f\n", ping_pong());
  } else if (what == "spawn_exit") {
    std::printf("asio spawn_exit op/s %.0f\n", spawn_exit());
  } else if (what == "idle_memory") {
    std::printf("asio idle_memory B/process %.0f\n", idle_memory());
  } else {
    std::fputs("usage: asio_processes ping_pong | spawn_exit | idle_memory\n", stderr);
    return 2;
  }
  return 0;
}
