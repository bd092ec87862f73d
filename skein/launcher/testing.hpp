// What the launcher's tests share; for *_test.cpp files only, here and in layers above.
//
// A World is a runtime with OsProcesses and an owner that writes down what it is told. shell() makes a spec. The
// launcher of the test program is forked before main.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/launcher/os_processes.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::launcher::tests {

using skein::tests::eventually;

// What one OS process told its owner.
struct Story {
  pid_t pid = 0;
  bool started = false;
  std::string failed;
  std::string output;
  std::size_t unconsumed = 0;
  int output_ends = 0;
  int exits = 0;
  OsExited exit;
  bool out_of_order = false;  // something came after its end
};

class Stories {
 public:
  [[nodiscard]] Story of(OsId id) const {
    const std::scoped_lock lock(mutex_);
    const auto at = stories_.find(id);
    return at == stories_.end() ? Story{} : at->second;
  }
  template <class Change>
  void change(OsId id, Change change) {
    const std::scoped_lock lock(mutex_);
    Story& story = stories_[id];
    story.out_of_order = story.out_of_order || story.exits > 0;
    change(story);
  }

 private:
  mutable std::mutex mutex_;
  std::map<OsId, Story> stories_;
};

// The owner; consumes what it gets unless told not to.
class Listener {
 public:
  Listener(Stories* stories, OsProcesses* processes, bool consumes)
      : stories_(stories), processes_(processes), consumes_(consumes) {}

  void handle_info(Self self, Message message) {
    if (const auto* started = message.get_if<OsStarted>()) {
      stories_->change(started->id, [&](Story& story) { story.started = true, story.pid = started->pid; });
    } else if (const auto* failed = message.get_if<OsStartFailed>()) {
      stories_->change(failed->id, [&](Story& story) { story.failed = failed->why; });
    } else if (const auto* output = message.get_if<OsOutput>()) {
      stories_->change(output->id, [&](Story& story) {
        story.output += output->bytes;
        story.unconsumed += output->bytes.size();
      });
      if (consumes_) processes_->consumed(output->id, output->bytes.size());
    } else if (const auto* end = message.get_if<OsOutputEnd>()) {
      stories_->change(end->id, [](Story& story) { ++story.output_ends; });
    } else if (const auto* exited = message.get_if<OsExited>()) {
      stories_->change(exited->id, [&](Story& story) { ++story.exits, story.exit = *exited; });
    } else if (message.is<int>()) {
      self.stop();
    }
  }

 private:
  Stories* stories_;
  OsProcesses* processes_;
  bool consumes_;
};

struct World {
  explicit World(OsProcessesOptions options = {}, bool consumes = true)
      : processes(runtime, Launcher::fork_early(), options),
        owner(runtime.spawn<Listener>(&stories, &processes, consumes)) {}

  // Its processes first: the listener uses what is destroyed next.
  ~World() { runtime.shutdown(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  OsId start(OsSpec spec) { return processes.spawn(owner, std::move(spec)); }
  [[nodiscard]] Story after_exit(OsId id) const {
    const bool ended = eventually([&] { return stories.of(id).exits > 0 || !stories.of(id).failed.empty(); });
    Story story = stories.of(id);
    if (!ended) story.failed = "it did not end";
    return story;
  }
  [[nodiscard]] Story after_output(OsId id, std::string_view text) const {
    const bool came = eventually([&] { return stories.of(id).output.find(text) != std::string::npos; });
    Story story = stories.of(id);
    if (!came) story.failed = "it did not write '" + std::string(text) + "'";
    return story;
  }

  Stories stories;
  Runtime runtime{skein::tests::threaded(1)};
  OsProcesses processes;
  Pid owner;
};

[[nodiscard]] inline OsSpec shell(std::string script) {
  OsSpec spec;
  spec.argv = {"/bin/sh", "-c", std::move(script)};
  spec.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  return spec;
}

[[nodiscard]] inline bool lives(pid_t pid) {
  const auto all = scan_processes();
  return std::ranges::any_of(all, [&](const OsEntry& each) { return each.pid == pid && !is_dead(each); });
}

// A word that the tests of no other process have, to be ended with a digit: how long a sleep of this test is.
[[nodiscard]] inline std::string mark(int test) { return fmt::format("{}.{:07}", test, ::getpid()); }
// Living processes whose command line holds this word: tests give each tree one of its own.
[[nodiscard]] std::vector<pid_t> marked(std::string_view word);
[[nodiscard]] std::size_t open_descriptors();
// A child whose first thread has ended while another lives: /proc shows it as a zombie.
[[nodiscard]] pid_t fork_one_without_its_first_thread();

}  // namespace skein::inline v0::launcher::tests
