// Owners of OS processes that die while nobody watches, and programs that wait for descriptors.
#include <gtest/gtest.h>

#include <chrono>

#include "skein/launcher/os_processes.hpp"
#include "skein/launcher/testing.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::launcher::tests {
namespace {

using std::chrono::seconds;

OsProcessesOptions supervised() {
  OsProcessesOptions options;
  options.is_watch_supervised = true;
  return options;
}

TEST(OsProcessesWatch, a_watch_that_is_started_anew_knows_all_owners) {
  World world(supervised());
  const auto root = start_supervisor(world.runtime, trees::supervisor("root", Strategy::one_for_one, {5, seconds(5)},
                                                                      {world.processes.owner_watch()}));
  ASSERT_TRUE(root);
  const auto watch = [&] {
    const auto children = which_children(world.runtime, root->pid);
    return children && !children->empty() ? children->front().pid : Pid{};
  };
  const OsId id = world.start(shell("echo up; exec sleep " + mark(98781) + "1"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  const Pid first = watch();
  ASSERT_TRUE(first);
  world.runtime.exit(first, ExitReason::kill());
  ASSERT_TRUE(eventually([&] { return watch() && watch() != first; }));
  world.runtime.exit(world.owner, ExitReason::kill());
  EXPECT_TRUE(eventually([&] { return marked(mark(98781)).empty(); })) << "its owner died, and nobody has noticed";
}

TEST(OsProcessesWatch, an_owner_that_dies_before_anybody_watches_is_noticed_later) {
  World world(supervised());
  const OsId id = world.start(shell("echo up; exec sleep " + mark(98782) + "1"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  world.runtime.exit(world.owner, ExitReason::kill());
  const auto root = start_supervisor(world.runtime, trees::supervisor("root", Strategy::one_for_one, {5, seconds(5)},
                                                                      {world.processes.owner_watch()}));
  ASSERT_TRUE(root);
  EXPECT_TRUE(eventually([&] { return marked(mark(98782)).empty(); }));
}

TEST(OsProcessesWatch, a_start_waits_for_descriptors_and_says_so) {
  OsProcessesOptions options;
  options.descriptors = std::make_shared<DescriptorBudget>(DescriptorLimits{.total = 12, .strangers_max = 1});
  World world(options);
  auto client = options.descriptors->admit_member();
  const OsId first = world.start(shell("read -r line; echo first"));
  const OsId second = world.start(shell("echo second"));
  const OsId third = world.start(shell("echo third"));
  EXPECT_EQ(world.after_exit(second).output, "second\n");
  EXPECT_EQ(world.after_exit(third).output, "third\n") << "it waits for the second";
  auto crowd = std::vector<DescriptorPlace>();
  while (auto place = options.descriptors->admit_member()) crowd.push_back(std::move(place));
  const OsId late = world.start(shell("echo late"));
  EXPECT_TRUE(eventually([&] { return world.processes.problem().find("descriptors") != std::string::npos; }));
  EXPECT_FALSE(world.stories.of(late).started);
  crowd.clear();
  EXPECT_EQ(world.after_exit(late).output, "late\n");
  EXPECT_EQ(world.processes.problem(), "");
  ASSERT_TRUE(world.processes.write(first, "go\n"));
  EXPECT_EQ(world.after_exit(first).output, "first\n");
  EXPECT_TRUE(eventually([&] { return options.descriptors->use().used == 1U; })) << "all but the client's";
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
