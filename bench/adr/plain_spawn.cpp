// Starting OS processes without helpers: how long /bin/true takes with posix_spawn and waitpid, and who survives when
// the process group of a program is killed. For docs/adr/0008-helpers.md. Not part of the build:
//
//   g++ -O2 -std=c++20 bench/adr/plain_spawn.cpp -o build/plain_spawn && build/plain_spawn
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

extern char** environ;

namespace {

constexpr int k_samples = 1'000;

pid_t start(std::vector<std::string> words) {
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  args.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  if (posix_spawn(&pid, args[0], nullptr, &attributes, args.data(), environ) != 0) std::abort();
  posix_spawnattr_destroy(&attributes);
  return pid;
}

void speed() {
  std::vector<double> times_us;
  for (int i = 0; i < k_samples; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    waitpid(start({"/bin/true"}), nullptr, 0);
    times_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times_us.begin(), times_us.end());
  std::printf("/bin/true: p50 %.0f us, p99 %.0f us\n", times_us[k_samples / 2], times_us[k_samples * 99 / 100]);
}

// Running, and not a zombie that its new parent has not reaped.
const char* fate(pid_t pid) {
  std::string number;
  std::string name;
  std::string state;
  std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> number >> name >> state;
  return state.empty() || state == "Z" || state == "X" ? "gone" : "alive";
}

// The program starts one process in its group and one in a session of its own, and tells their numbers.
void leftovers() {
  const std::string note = "/tmp/plain-spawn-" + std::to_string(getpid());
  const pid_t program = start({"/bin/sh", "-c", "sleep 30 & a=$!; setsid sleep 30 & echo $a $! > " + note + "; wait"});
  pid_t in_group = 0;
  pid_t elsewhere = 0;
  while (elsewhere == 0) {
    std::ifstream(note) >> in_group >> elsewhere;
    usleep(10'000);
  }
  usleep(100'000);  // setsid has run by then
  kill(-program, SIGKILL);
  waitpid(program, nullptr, 0);
  usleep(200'000);
  std::printf("after kill(-group, SIGKILL): in the group %s, in another session %s\n", fate(in_group), fate(elsewhere));
  kill(elsewhere, SIGKILL);
  std::remove(note.c_str());
}

}  // namespace

int main() {
  speed();
  leftovers();
  return 0;
}
