#include "skein/control/protocol_version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "skein/base/fd.hpp"
#include "skein/control/client.hpp"
#include "skein/control/unix_socket.hpp"

namespace skein::inline v0::control {
namespace {

using testing::HasSubstr;

TEST(ProtocolVersion, says_which_side_is_older_and_what_to_do) {
  const auto old_node = other_version({"this skein program", 2}, {"the node", 1});
  EXPECT_EQ(old_node.message, "the node is older than this skein program: they speak versions 1 and 2 of the protocol");
  EXPECT_THAT(old_node.advice, HasSubstr("restart the node"));
  EXPECT_THAT(other_version({"this skein program", 2}, {"the node", 3}).advice, HasSubstr("the node's release"));
}

TEST(ProtocolVersion, is_read_from_the_refusal_of_a_node_of_version_1) {
  EXPECT_EQ(version_in_refusal("this node speaks version 1 of the protocol, not 2"), 1U);
  EXPECT_EQ(version_in_refusal("this node speaks version x of the protocol, not 2"), std::nullopt);
  EXPECT_EQ(version_in_refusal("this node is draining"), std::nullopt);
}

// A node of version 1, which refuses the hello of any other with a number and no more.
void refuse_one(int listening) {
  const Fd client(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  std::string said(4096, '\0');
  [[maybe_unused]] const auto got = ::read(client.get(), said.data(), said.size());
  const std::string_view no =
      "{\"id\":1,\"error\":{\"code\":\"invalid\",\"message\":\"this node speaks version 1 of the protocol, not 2\","
      "\"advice\":\"use the same release\"}}\n";
  [[maybe_unused]] const auto sent = ::send(client.get(), no.data(), no.size(), MSG_NOSIGNAL);
}

TEST(ProtocolVersion, a_program_that_meets_an_older_node_says_so) {
  const auto folder = std::filesystem::temp_directory_path() / ("skein-old-node-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / k_socket_file;
  const Fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  std::thread node(refuse_one, listening.get());
  const auto client = Client::connect(folder.string(), std::chrono::seconds(10));
  node.join();
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ClientError::Kind::refused) << "the node is there: no other one is to be started";
  EXPECT_EQ(client.error().code, "other_version");
  EXPECT_THAT(client.error().message, HasSubstr("the node is older than this skein program"));
  EXPECT_THAT(client.error().advice, HasSubstr("restart the node"));
}

}  // namespace
}  // namespace skein::inline v0::control
