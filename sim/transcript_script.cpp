#include "sim/transcript_script.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace skein::sim {
namespace {

constexpr std::string_view k_rule = "----";

struct BadTranscript : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// "(1, 2,3)" and "3" as their values.
std::vector<std::string> values_of(std::string_view text) {
  if (text.starts_with('(')) text = text.substr(1, text.size() - 2);
  std::vector<std::string> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view value = text.substr(0, end);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    values.emplace_back(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

// Parentheses may hold spaces.
std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  bool is_within = false;
  for (const char each : text) {
    if (each == '(' || each == ')') is_within = each == '(';
    if (each != ' ' || is_within) {
      part += each;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  if (is_within) throw BadTranscript("a '(' has no ')'");
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(lines_of(text)) {}

  std::vector<TranscriptCommand> parse() {
    std::vector<TranscriptCommand> commands;
    while (at_ < lines_.size()) {
      if (is_blank(lines_[at_]) || lines_[at_].starts_with('#')) {
        ++at_;
      } else {
        commands.push_back(command());
      }
    }
    return commands;
  }
  [[nodiscard]] std::size_t line() const { return std::min(at_ + 1, lines_.size()); }

 private:
  TranscriptCommand command() {
    TranscriptCommand command;
    command.line = at_ + 1;
    command.text = lines_[at_];
    std::vector<std::string> parts = split_command(command.text);
    if (parts.empty() || parts.front() == k_rule) throw BadTranscript("a command is missing before '----'");
    command.name = parts.front();
    parts.erase(parts.begin());
    for (auto& part : parts) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos) {
        command.words.push_back(std::move(part));
      } else {
        command.settings[part.substr(0, equals)] = values_of(std::string_view(part).substr(equals + 1));
      }
    }
    for (++at_; at_ < lines_.size() && lines_[at_] != k_rule; ++at_) {
      if (is_blank(lines_[at_])) throw BadTranscript(fmt::format("'{}' has no '----' after it", command.name));
      command.input.push_back(lines_[at_]);
    }
    if (at_ == lines_.size()) throw BadTranscript(fmt::format("'{}' has no '----' after it", command.name));
    command.lines_before = ++at_;
    read_expected(command);
    command.lines_after = at_;
    return command;
  }

  void read_expected(TranscriptCommand& command) {
    if (at_ == lines_.size() || lines_[at_] != k_rule) {
      while (at_ < lines_.size() && !is_blank(lines_[at_])) command.expected.push_back(lines_[at_++]);
      return;
    }
    for (++at_; at_ + 1 < lines_.size(); ++at_) {
      if (lines_[at_] == k_rule && lines_[at_ + 1] == k_rule) {
        at_ += 2;
        return;
      }
      command.expected.push_back(lines_[at_]);
    }
    throw BadTranscript("an output that begins with two '----' must end with two");
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

}  // namespace

std::expected<std::vector<TranscriptCommand>, std::string> parse_transcript(std::string_view text) {
  Parser parser(text);
  try {
    return parser.parse();
  } catch (const BadTranscript& bad) {
    return std::unexpected(fmt::format("{}: {}", parser.line(), bad.what()));
  }
}

std::expected<std::uint64_t, std::string> transcript_number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    return std::unexpected(fmt::format("'{}' is not a number", word));
  }
  return value;
}

}  // namespace skein::sim
