// What a verb prints that shows something as it happens: steps, what held in each, remarks. For people as they like to
// read it, or with --json an object a line: {"step":...}, {"check":...,"holds":...}, {"note":...}. One thread.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

namespace skein::cli {

class Story {
 public:
  explicit Story(bool is_json) : is_json_(is_json) {}

  void step(std::string_view text) const;
  void check(bool holds, std::string_view text) const;
  void note(std::string_view text) const;
  // Only people read it.
  void aside(std::string_view text) const;
  // Only programs read it: the last line, with the figures.
  void end(const boost::json::object& figures) const;

 private:
  bool is_json_;
};

}  // namespace skein::cli
