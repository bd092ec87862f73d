#include "skein/launcher/kinship.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "skein/launcher/testing.hpp"

namespace skein::inline v0::launcher::tests {
namespace {

using Table = std::map<pid_t, ProcessLook>;

LookAt reader(const Table& table) {
  return [&table](pid_t pid) -> std::optional<ProcessLook> {
    const auto at = table.find(pid);
    return at == table.end() ? std::nullopt : std::optional(at->second);
  };
}

const std::vector<pid_t> k_helpers{20, 21};

TEST(Kinship, walks_up_to_a_helper_or_to_the_first_process) {
  const Table table{{1, {0, 1}},   {10, {1, 2}},  {20, {10, 3}}, {21, {20, 4}},
                    {30, {21, 5}}, {31, {30, 6}}, {40, {10, 7}}, {41, {40, 8}}};
  EXPECT_EQ(descent_of(31, k_helpers, reader(table)), Descent::below);
  EXPECT_EQ(descent_of(30, k_helpers, reader(table)), Descent::below);
  EXPECT_EQ(descent_of(21, k_helpers, reader(table)), Descent::below);
  EXPECT_EQ(descent_of(41, k_helpers, reader(table)), Descent::apart);
  EXPECT_EQ(descent_of(10, k_helpers, reader(table)), Descent::apart) << "the node itself stands above its helpers";
  EXPECT_EQ(descent_of(99, k_helpers, reader(table)), Descent::gone);
}

TEST(Kinship, a_parent_that_dies_during_the_walk_and_whose_number_is_used_again_does_not_lead_astray) {
  // 31 is below 30, which dies as soon as it was named: 31 lands on its keeper, and 30 is a stranger's number now.
  Table table{{1, {0, 1}}, {10, {1, 2}}, {20, {10, 3}}, {21, {20, 4}}, {30, {21, 5}}, {31, {30, 6}}};
  int looks = 0;
  const LookAt look = [&](pid_t pid) {
    const auto seen = reader(table)(pid);
    if (++looks == 1) {
      table[31].parent = 21;
      table[30] = {1, 9};
    }
    return seen;
  };
  EXPECT_EQ(descent_of(31, k_helpers, look), Descent::below);
}

TEST(Kinship, an_ancestor_whose_number_is_used_again_between_two_looks_does_not_lead_astray) {
  Table table{{1, {0, 1}}, {10, {1, 2}}, {20, {10, 3}}, {21, {20, 4}}, {30, {21, 5}}, {31, {30, 6}}, {32, {31, 7}}};
  int looks = 0;
  const LookAt look = [&](pid_t pid) {
    // After 32 -> 31 is known, and before 31 is looked at again: 31 dies, and its number means a stranger.
    if (++looks == 4) {
      table[32].parent = 30;
      table[31] = {1, 9};
    }
    return reader(table)(pid);
  };
  EXPECT_EQ(descent_of(32, k_helpers, look), Descent::below);
}

TEST(Kinship, one_that_never_holds_still_is_restless_and_a_hidden_ancestor_is_said) {
  Table table{{1, {0, 1}}, {20, {1, 3}}, {21, {20, 4}}, {30, {21, 5}}, {31, {21, 5}}, {40, {30, 6}}};
  int looks = 0;
  const LookAt look = [&](pid_t pid) {
    if (pid == 40) table[40].parent = ++looks % 2 == 0 ? 30 : 31;
    return reader(table)(pid);
  };
  EXPECT_EQ(descent_of(40, std::vector<pid_t>{99}, look), Descent::restless);
  const Table hidden{{40, {30, 6}}, {41, {21, 7}}};
  EXPECT_EQ(descent_of(40, k_helpers, reader(hidden)), Descent::unreadable);
  EXPECT_EQ(descent_of(41, k_helpers, reader(hidden)), Descent::below) << "a helper need not be seen to be known";
}

TEST(Kinship, more_ancestors_than_anybody_has_are_not_believed) {
  Table table;
  for (pid_t pid = 1; pid <= k_ancestors_max + 10; ++pid) table[pid] = {pid - 1, static_cast<std::uint64_t>(pid)};
  EXPECT_EQ(descent_of(k_ancestors_max + 10, std::vector<pid_t>{1}, reader(table)), Descent::restless);
  EXPECT_EQ(descent_of(100, std::vector<pid_t>{99'999}, reader(table)), Descent::apart);
}

TEST(Kinship, a_keepers_control_group_is_known_by_its_place_below_the_nodes) {
  EXPECT_TRUE(is_in_keepers_group("4:memory:/x\n0::/user.slice/skein-17-0/20-21-0\n", "skein-17-0"));
  EXPECT_TRUE(is_in_keepers_group("0::/skein-17-0/20-21-0/below\n", "skein-17-0"));
  EXPECT_FALSE(is_in_keepers_group("0::/skein-17-0/node\n", "skein-17-0"));
  EXPECT_FALSE(is_in_keepers_group("0::/skein-17-0\n", "skein-17-0"));
  EXPECT_FALSE(is_in_keepers_group("0::/skein-18-0/20-21-0\n", "skein-17-0"));
  EXPECT_FALSE(is_in_keepers_group("0::/\n", ""));
}

// Listens in a folder of its own; `peer` is who connected last.
class Door {
 public:
  Door() : folder_(std::filesystem::temp_directory_path() / ("skein-kin-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
  }
  ~Door() { std::filesystem::remove_all(folder_); }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] std::string path() const { return folder_ / "door"; }
  [[nodiscard]] Fd accept() const { return Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  // A program that connects and stays for a while.
  [[nodiscard]] std::string knock(const std::string& stays_s = "60") const {
    return "exec python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.connect(\"" + path() +
           "\"); time.sleep(" + stays_s + ")'";
  }

 private:
  std::filesystem::path folder_;
  Fd listener_;
};

TEST(Kinship, the_peer_of_a_socket_is_known_for_an_agents_however_it_got_there) {
  const Door door;
  World world;
  const std::vector<std::string> ways{
      door.knock(),
      "sh -c \"$0\" & wait",
      "setsid sh -c \"$0\" & wait",
      // Forked twice, in a session of its own, and its parent gone before it connects.
      "(setsid sh -c 'sleep 0.3; exec sh -c \"$0\"' \"$0\" &) ; sleep 60",
  };
  for (const std::string& way : ways) {
    OsSpec spec = shell(way);
    spec.argv.push_back(door.knock());
    const OsId id = world.start(spec);
    const Fd peer = door.accept();
    ASSERT_TRUE(peer);
    EXPECT_EQ(descent_of_peer(peer.get()), Descent::below) << way;
    world.processes.kill(id);
    EXPECT_EQ(world.after_exit(id).exits, 1);
  }
}

TEST(Kinship, others_are_apart_and_one_that_has_gone_is_said) {
  const Door door;
  const World world;
  for (const bool stays : {true, false}) {
    const std::string script = door.knock(stays ? "60" : "0");
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    const Fd peer = door.accept();
    ASSERT_TRUE(peer);
    if (stays) {
      EXPECT_EQ(descent_of_peer(peer.get()), Descent::apart);
      ::kill(pid, SIGKILL);
    }
    ::waitpid(pid, nullptr, 0);
    EXPECT_EQ(descent_of_peer(peer.get()), Descent::gone);
  }
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
