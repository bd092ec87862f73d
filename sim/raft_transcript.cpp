#include "sim/raft_transcript.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/transcript_tables.hpp"
#include "sim/transcript_world.hpp"

namespace skein::sim {
namespace {

constexpr std::array<std::string_view, 5> k_exchanges = {"stabilize", "deliver-msgs", "process-ready",
                                                         "process-append-thread", "process-apply-thread"};

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool is_log_line(std::string_view line) {
  line = trim(line);
  return line.starts_with("INFO ") || line.starts_with("DEBUG ") || line.starts_with("WARN ");
}

// How many '[' are open after the line; what entries hold is in quotes.
int open_after(std::string_view line) {
  int depth = 0;
  bool is_quoted = false;
  for (const char each : line) {
    if (each == '"') is_quoted = !is_quoted;
    if (!is_quoted && each == '[') ++depth;
    if (!is_quoted && each == ']') --depth;
  }
  return depth;
}

// A message: "FROM->TO Type ...", and all of it in one line.
struct Line {
  std::string from;
  std::string to;
  std::string text;
};

std::optional<Line> message_of(std::string_view line) {
  const std::size_t arrow = line.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  const std::size_t space = line.find(' ', arrow);
  if (space == std::string_view::npos || !line.substr(space + 1).starts_with("Msg")) return std::nullopt;
  return Line{std::string(line.substr(0, arrow)), std::string(line.substr(arrow + 2, space - arrow - 2)),
              std::string(line)};
}

bool is_node(std::string_view name) { return transcript_number(name).has_value(); }

// The entries that a thread is given; nothing when it is given none.
std::string work_of(const Line& line) {
  const std::size_t entries = line.text.find(" Entries:");
  if (entries == std::string::npos) return {};
  return fmt::format("{}->{}{}", line.from, line.to, line.text.substr(entries));
}

class Exchanges {
 public:
  explicit Exchanges(const TranscriptCommand& command)
      : begins_as_(command.name == "deliver-msgs" ? "received" : ""),
        first_node_(command.words.empty() ? "" : command.words.front()) {}

  std::vector<std::string> read(const std::vector<std::string>& output) {
    heading_ = begins_as_;
    node_ = first_node_;
    for (std::size_t at = 0; at < output.size(); ++at) {
      std::string line(trim(output[at]));
      if (is_log_line(line) || take_heading(line)) continue;
      int open = open_after(line);
      while (open > 0 && at + 1 < output.size()) {
        const std::string_view next = trim(output[++at]);
        open += open_after(next);
        if (!line.ends_with('[') && !next.starts_with(']')) line += ' ';
        line += next;
      }
      if (at + 1 < output.size() && trim(output[at + 1]).starts_with("Snapshot:")) {
        line += " " + std::string(trim(output[++at]));
      }
      take(line);
    }
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  bool take_heading(std::string_view line) {
    if (line.starts_with("> ")) {
      node_ = line.substr(2, line.find(' ', 2) - 2);
      heading_ = line.ends_with("receiving messages") ? "received" : "";
    } else if (line == "Messages:" || line == "Responses:") {
      heading_ = "sent";
    } else if (line == "Processing:") {
      heading_ = "done";
    } else if (line == "Entries:") {
      heading_ = "stores";
    } else if (line == "CommittedEntries:") {
      heading_ = "applies";
    } else if (line == "Reads:") {
      heading_ = "reads";
    } else {
      return false;
    }
    return true;
  }

  void take(std::string_view line) {
    constexpr std::string_view k_dropped = "dropped: ";
    std::string_view heading = heading_;
    if (line.starts_with(k_dropped)) {
      heading = "dropped";
      line.remove_prefix(k_dropped.size());
    }
    const auto message = message_of(line);
    if (!message) {
      const bool is_said_of_node = heading == "stores" || heading == "applies" || heading == "reads";
      if (line.starts_with("HardState ")) {
        found_.push_back(fmt::format("{} stores {}", node_, line));
      } else if (is_said_of_node) {
        found_.push_back(fmt::format("{} {} {}", node_, heading, line));
      }
      return;
    }
    if (heading == "done") {
      if (const std::string work = work_of(*message); !work.empty()) found_.push_back("done " + work);
      return;
    }
    if (!is_node(message->from) || !is_node(message->to) || message->from == message->to) return;
    found_.push_back(fmt::format("{} {}", heading, message->text));
  }

  std::string_view begins_as_;
  std::string first_node_;
  std::string node_;
  std::string_view heading_;
  std::vector<std::string> found_;
};

std::vector<std::string> only_in(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  std::vector<std::string> rest = some;
  for (const auto& each : others) {
    if (const auto at = std::ranges::find(rest, each); at != rest.end()) rest.erase(at);
  }
  return rest;
}

}  // namespace

std::vector<std::string> comparable_part(const TranscriptCommand& command, const std::vector<std::string>& output) {
  if (std::ranges::find(k_exchanges, command.name) != k_exchanges.end()) return Exchanges(command).read(output);
  std::vector<std::string> lines;
  std::ranges::copy_if(output, std::back_inserter(lines),
                       [](const auto& line) { return !is_log_line(line) && line != "ok"; });
  // Their table shows how the number in the last line was found.
  if (command.name == "committed" && !lines.empty()) lines.erase(lines.begin(), lines.end() - 1);
  return lines;
}

std::expected<TranscriptResult, std::string> run_raft_transcript(const std::vector<TranscriptCommand>& commands) {
  TranscriptResult result;
  TranscriptWorld world;
  TranscriptTables tables;
  for (const auto& command : commands) {
    auto output = TranscriptTables::knows(command.name) ? tables.run(command) : world.run(command);
    if (!output) return std::unexpected(fmt::format("{}: {}", command.line, output.error()));
    if (!world.is_silent()) {
      const auto theirs = comparable_part(command, command.expected);
      const auto ours = comparable_part(command, *output);
      result.compared += theirs.size();
      if (theirs != ours) {
        result.differences.push_back({command.line, command.text, only_in(theirs, ours), only_in(ours, theirs)});
      }
    }
    result.outputs.push_back(std::move(*output));
  }
  return result;
}

std::string with_outputs(std::string_view text, const std::vector<TranscriptCommand>& commands,
                         const std::vector<std::vector<std::string>>& outputs) {
  std::string written;
  std::size_t line = 0;
  const auto copy_up_to = [&](std::size_t end, bool is_kept) {
    for (; line < end && !text.empty(); ++line) {
      const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
      if (is_kept) written += text.substr(0, length);
      text.remove_prefix(length);
    }
  };
  for (std::size_t at = 0; at < commands.size(); ++at) {
    copy_up_to(commands[at].lines_before, true);
    for (const auto& each : outputs[at]) written += each + "\n";
    copy_up_to(commands[at].lines_after, false);
  }
  copy_up_to(std::string_view::npos, true);
  return written;
}

}  // namespace skein::sim
