// skein-sim journal-writer DIR: a real journal on a real disk, appended to under load until it is killed. The scripts
// in tests/journal_kill and tests/journal_full run it, believe what it prints, and check at the next start that it is
// true.
//
// Its commands are numbered from 1. At a start it checks that the log holds them in order and once each, prints
// `open N`, appends the last ones again (they must be answered from memory), and goes on with N + 1. `applied N` means
// that all up to N were acknowledged. What is turned away is told as `overloaded WHY` and ends it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>

#include "sim/log_oracle.hpp"
#include "sim/simulation.hpp"
#include "skein/base/bytes.hpp"
#include "skein/journal/journal.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_writer_usage =
    "journal-writer DIR [--count N] [--bytes N] [--in-flight N] [--segment-bytes N] [--low-water N]";
constexpr std::uint64_t k_appended_again = 100;

struct WriterOptions {
  std::string dir;
  std::uint64_t count = ~std::uint64_t{0};
  std::uint64_t bytes = 200;
  std::uint64_t in_flight = 64;
  journal::JournalLimits limits;
};

std::optional<WriterOptions> parse_writer(std::span<const std::string> args) {
  if (args.empty() || args.size() % 2 == 0) return std::nullopt;
  WriterOptions options;
  options.dir = args[0];
  options.limits.snapshot_bytes = 4ULL << 20U;
  for (std::size_t i = 1; i < args.size(); i += 2) {
    std::uint64_t value = 0;
    const auto& text = args[i + 1];
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
    if (args[i] == "--count") {
      options.count = value;
    } else if (args[i] == "--bytes") {
      options.bytes = value;
    } else if (args[i] == "--in-flight" && value > 0) {
      options.in_flight = value;
    } else if (args[i] == "--segment-bytes") {
      options.limits.segment_bytes = value;
      options.limits.first_segment_bytes = value / 2;
    } else if (args[i] == "--low-water") {
      options.limits.disk_low_water_bytes = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

// Straight to the pipe, so that what was said is known even when the program is killed right after.
void say(const std::string& line) {
  std::string_view left = line;
  while (!left.empty()) {
    const auto n = ::write(STDOUT_FILENO, left.data(), left.size());
    if (n <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
}

class Writer {
 public:
  explicit Writer(WriterOptions options) : options_(std::move(options)) {}

  int run() {
    auto opened = journal::open_journal(options_.dir, machine_, options_.limits);
    if (!opened) {
      fmt::print(stderr, "skein-sim: {}\n", opened.error().describe());
      return k_violated;
    }
    journal_ = std::move(*opened);
    for (std::size_t i = 0; i < machine_.steps().size(); ++i) {
      if (machine_.steps()[i].serial == i + 1) continue;
      fmt::print(stderr, "skein-sim: command {} stands where {} should\n", machine_.steps()[i].serial, i + 1);
      return k_violated;
    }
    const Serial had = machine_.steps().size();
    say(fmt::format("open {}\n", had));
    for (Serial s = had > k_appended_again ? had - k_appended_again + 1 : 1; s <= had; ++s) append(s, true);
    for (Serial s = had + 1; s - had <= options_.count && !ended_; ++s) append(s, false);
    wait_for_room(0);
    journal_->close();
    say("closed\n");
    return wrong_ ? k_violated : k_nothing_violated;
  }

 private:
  void append(Serial serial, bool again) {
    wait_for_room(options_.in_flight - 1);
    if (ended_) return;
    std::string bytes;
    ByteWriter(bytes).u64(serial);
    bytes.resize(std::max<std::size_t>(options_.bytes, bytes.size()), 'x');
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    journal::Batch batch;
    batch.push_back({{2, serial}, std::move(bytes)});
    journal_->append(std::move(batch),
                     [this, serial, again](const journal::AppendAnswer& answer) { answered(serial, again, answer); });
  }

  void answered(Serial serial, bool again, const journal::AppendAnswer& answer) {
    if (answer.outcome == journal::Outcome::applied) {
      if (answer.results.front().repeated != again) {
        wrong_ = true;
        fmt::print(stderr, "skein-sim: command {} was {}applied before\n", serial, again ? "not " : "");
      }
      if (!again) say(fmt::format("applied {}\n", serial));
    } else if (!ended_.exchange(true)) {
      say(fmt::format("{} {}\n", name_of(answer.outcome), answer.why));
    }
    const std::lock_guard lock(mutex_);
    --in_flight_;
    room_.notify_one();
  }

  void wait_for_room(std::uint64_t in_flight_at_most) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return in_flight_ <= in_flight_at_most; });
  }

  WriterOptions options_;
  HistoryMachine machine_;
  std::unique_ptr<journal::Journal> journal_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::uint64_t in_flight_ = 0;
  std::atomic<bool> ended_{false};
  std::atomic<bool> wrong_{false};
};

int run_writer(std::span<const std::string> args) {
  auto options = parse_writer(args);
  if (!options) {
    fmt::print(stderr, "skein-sim: 'journal-writer' is not understood like that\nusage: skein-sim {}\n",
               k_writer_usage);
    return k_bad_usage;
  }
  // With a limit on file sizes, as with a full disk, a write has to fail, not to kill.
  std::signal(SIGXFSZ, SIG_IGN);
  return Writer(std::move(*options)).run();
}

const Registrar k_writer{{.name = "journal-writer", .usage = k_writer_usage, .run = run_writer}};

}  // namespace
}  // namespace skein::sim
