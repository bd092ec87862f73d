#include "cli/story.hpp"

#include <fmt/format.h>

#include "cli/session.hpp"
#include "cli/terminal.hpp"

namespace skein::cli {
namespace {

// Seen at once, also where it is piped.
void tell(std::string_view text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

}  // namespace

void Story::step(std::string_view text) const {
  if (is_json_) return print_json(json::object{{"step", text}});
  tell(fmt::format("\n{}\n", coloured(text, Colour::bold)));
}

void Story::check(bool holds, std::string_view text) const {
  if (is_json_) return print_json(json::object{{"check", text}, {"holds", holds}});
  tell(fmt::format("   {} {}\n", holds ? coloured("✓", Colour::green) : coloured("✗", Colour::red), text));
}

void Story::note(std::string_view text) const {
  if (is_json_) return print_json(json::object{{"note", text}});
  tell(fmt::format("     {}\n", coloured(text, Colour::dim)));
}

void Story::aside(std::string_view text) const {
  if (!is_json_) tell(text);
}

void Story::end(const json::object& figures) const {
  if (is_json_) print_json(figures);
}

}  // namespace skein::cli
