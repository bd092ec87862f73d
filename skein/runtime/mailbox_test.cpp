#include "skein/runtime/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

struct Numbered {
  std::uint32_t sender;
  std::uint32_t number;
};

MessageNode* numbered(std::uint32_t sender, std::uint32_t number) {
  return make_node(MessageKind::info, Numbered{sender, number});
}

PushResult push(Mailbox& mailbox, MessageNode* node, std::uint32_t limit = 0) {
  std::uint32_t backlog = 0;
  const PushResult result = mailbox.push(node, 0, limit, backlog);
  if (result == PushResult::dead || result == PushResult::full) free_node(node);
  return result;
}

std::vector<std::uint32_t> drain(MessageNode* node) {
  std::vector<std::uint32_t> numbers;
  while (node != nullptr) {
    MessageNode* next = node->next;
    numbers.push_back(payload_as<Numbered>(node).number);
    free_node(node);
    node = next;
  }
  return numbers;
}

TEST(Mailbox, is_dead_until_opened_and_after_it_was_closed) {
  Mailbox mailbox;
  EXPECT_EQ(push(mailbox, numbered(0, 1)), PushResult::dead);
  mailbox.open();
  EXPECT_EQ(push(mailbox, numbered(0, 2)), PushResult::queued);
  EXPECT_EQ(drain(mailbox.close()), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(push(mailbox, numbered(0, 3)), PushResult::dead);
}

TEST(Mailbox, keeps_the_order_of_one_sender) {
  Mailbox mailbox;
  mailbox.open();
  for (std::uint32_t i = 0; i < 5; ++i) push(mailbox, numbered(0, i));
  EXPECT_EQ(mailbox.stacked(), 5U);
  EXPECT_EQ(drain(mailbox.take()), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(mailbox.take(), nullptr);
  EXPECT_EQ(mailbox.stacked(), 0U);
}

TEST(Mailbox, only_the_push_into_an_idle_one_wakes) {
  Mailbox mailbox;
  mailbox.open();
  ASSERT_TRUE(mailbox.rest());
  EXPECT_TRUE(mailbox.is_idle());
  EXPECT_EQ(push(mailbox, numbered(0, 1)), PushResult::wake);
  EXPECT_EQ(push(mailbox, numbered(0, 2)), PushResult::queued);
  EXPECT_FALSE(mailbox.rest()) << "there is something new";
  drain(mailbox.take());
  EXPECT_TRUE(mailbox.rest());
}

TEST(Mailbox, refuses_at_the_limit_counting_what_the_owner_holds) {
  Mailbox mailbox;
  mailbox.open();
  EXPECT_EQ(push(mailbox, numbered(0, 1), 2), PushResult::queued);
  EXPECT_EQ(push(mailbox, numbered(0, 2), 2), PushResult::queued);
  EXPECT_EQ(push(mailbox, numbered(0, 3), 2), PushResult::full);
  EXPECT_EQ(push(mailbox, numbered(0, 4), 0), PushResult::queued) << "a signal has no limit";
  drain(mailbox.take());
  std::uint32_t backlog = 0;
  MessageNode* node = numbered(0, 5);
  EXPECT_EQ(mailbox.push(node, 2, 2, backlog), PushResult::full);
  EXPECT_EQ(backlog, 2U);
  free_node(node);
}

// Several threads push while the owner takes, rests and is woken, as the scheduler does it; then it closes. Every
// message that was accepted comes out once, in order per sender, and none is accepted after the close.
TEST(Mailbox, threads_push_in_order_and_it_closes_at_once) {
  constexpr std::uint32_t k_senders = 3;
  for (int round = 0; round < 20; ++round) {
    Mailbox mailbox;
    mailbox.open();
    std::array<std::uint32_t, k_senders> accepted{};
    std::atomic<std::uint32_t> wakes{0};
    std::vector<std::thread> threads;
    for (std::uint32_t sender = 0; sender < k_senders; ++sender) {
      threads.emplace_back([&, sender] {
        for (;;) {
          const PushResult result = push(mailbox, numbered(sender, accepted[sender]), 64);
          if (result == PushResult::dead) break;
          if (result == PushResult::full) {
            std::this_thread::yield();
            continue;
          }
          ++accepted[sender];
          if (result == PushResult::wake) ++wakes;
        }
      });
    }
    std::array<std::uint32_t, k_senders> next{};
    const auto read = [&](MessageNode* node) {
      while (node != nullptr) {
        MessageNode* after = node->next;
        const auto [sender, number] = payload_as<Numbered>(node);
        EXPECT_EQ(number, next[sender]);
        next[sender] = number + 1;
        free_node(node);
        node = after;
      }
    };
    std::uint32_t rests = 0;
    for (int i = 0; i < 500; ++i) {
      read(mailbox.take());
      if (!mailbox.rest()) continue;
      ++rests;
      while (wakes.load() < rests) std::this_thread::yield();
    }
    read(mailbox.close());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(next, accepted);
    EXPECT_EQ(wakes, rests) << "one wake for each rest";
  }
}

}  // namespace
}  // namespace skein::detail
