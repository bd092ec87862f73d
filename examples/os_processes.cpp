// Starts OS processes from a program of one's own: one that answers, one that is limited, one that leaves a daemon
// behind. With `--host [SCRIPT]` it starts a tree of stubborn processes, before them what the script does, and waits to
// be killed; tests/launcher does that.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "skein/launcher/os_processes.hpp"
#include "skein/runtime/runtime.hpp"

using namespace skein::launcher;

namespace {

struct Begin {
  OsSpec spec;
  std::string input;
};

// Starts one OS process, prints what it is told, and ends when that one has.
class Owner {
 public:
  explicit Owner(OsProcesses* processes) : processes_(processes) {}

  void handle_info(skein::Self self, skein::Message message) {
    if (auto* begin = message.get_if<Begin>()) {
      const OsId id = processes_->spawn(self.pid(), std::move(begin->spec));
      if (!processes_->write(id, std::move(begin->input))) fmt::print("nobody reads\n");
      processes_->close_stdin(id);
    } else if (const auto* output = message.get_if<OsOutput>()) {
      fmt::print("{}", output->bytes);
      processes_->consumed(output->id, output->bytes.size());
    } else if (const auto* failed = message.get_if<OsStartFailed>()) {
      fmt::print("{}\n", failed->why);
      self.stop();
    } else if (const auto* exited = message.get_if<OsExited>()) {
      fmt::print("ended by {} {}\n", exited->signalled ? "signal" : "exit", exited->code);
      self.stop();
    }
    std::fflush(stdout);
  }

 private:
  OsProcesses* processes_;
};

OsSpec shell(std::string script) {
  OsSpec spec;
  spec.argv = {"sh", "-c", std::move(script)};
  spec.environment = {"PATH=/usr/bin:/bin"};
  return spec;
}

// In its group, in other sessions, daemons, deaf to signals, and 100 more that go on forking.
constexpr const char* k_stubborn =
    "trap '' TERM HUP INT; sleep 99881.1 & setsid sleep 99881.2 & (setsid env -i sleep 99881.3 &)\n"
    "i=0; while [ $i -lt 100 ]; do setsid sh -c 'trap \"\" TERM HUP; sleep 99881.4 & sleep 99881.5' & i=$((i+1)); "
    "done\n"
    "echo up; while :; do setsid sh -c 'sleep 99881.6' & sleep 0.01; done";

}  // namespace

int main(int argc, char** argv) {
  // First of all, before any thread exists.
  Launcher& launcher = Launcher::fork_early();
  const bool host = argc > 1 && std::strcmp(argv[1], "--host") == 0;

  skein::Runtime runtime;
  OsProcesses processes(runtime, launcher);
  bool all_ended = true;
  const auto run = [&](OsSpec spec, std::string input) {
    const skein::Pid owner = runtime.spawn<Owner>(&processes);
    runtime.send(owner, Begin{std::move(spec), std::move(input)});
    const auto limit = host ? skein::k_forever : skein::Duration(std::chrono::seconds(20));
    all_ended = runtime.wait_for_end(owner, limit).has_value() && all_ended;
  };
  if (host) {
    run(shell(std::string(argc > 2 ? argv[2] : "") + k_stubborn), "");
    return 1;
  }
  run(shell("read -r line; echo it said: $line"), "hello\n");
  OsSpec limited = shell("while :; do :; done");
  limited.limits.cpu_seconds = 1;
  run(std::move(limited), "");
  run(shell("(setsid sleep 1000 &); echo leaves a daemon, which is killed"), "");
  run(OsSpec{.argv = {"/no/such/program"}}, "");
  const skein::launcher::OsCounts counts = processes.counts();
  runtime.shutdown();
  return all_ended && counts.exited == 3 && counts.start_failures == 1 ? 0 : 1;
}
