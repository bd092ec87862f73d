#include "skein/supervision/tree_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "skein/supervision/json_text.hpp"
#include "skein/supervision/supervisor_view.hpp"

namespace skein::inline v0 {
namespace {

TreeEntry entry_of(const Child& child, bool pooled) {
  TreeEntry entry;
  entry.id = pooled ? std::string() : child.spec->id;
  entry.what = child.spec->what;
  entry.label = child.spec->label;
  entry.type = child.spec->type;
  entry.state = child.state;
  entry.restart = child.spec->restart;
  entry.isolated = child.spec->isolated;
  entry.significant = child.spec->significant;
  entry.pid = child.state == ChildState::running ? child.pid : Pid{};
  entry.restarts = child.restarts;
  if (child.troubles == nullptr) return entry;
  const std::vector<Failure>& history = child.troubles->history;
  for (std::size_t n = 0; n < history.size(); ++n) {
    const Failure& failure = history[(child.troubles->oldest + n) % history.size()];
    entry.failures.push_back(TreeFailure{failure.at, failure.reason.text(), failure.at_start});
  }
  return entry;
}

void read_supervisor(Runtime& runtime, SupervisorView& view, const TreeLimits& limits, TreeEntry& entry) {
  TreeSupervisor about;
  const Instant now = runtime.now();
  const std::scoped_lock lock(view.mutex);
  if (entry.id.empty()) entry.id = view.name;
  about.strategy = view.flags.strategy;
  about.used = view.window.used(now);
  about.intensity = view.flags.intensity;
  about.period = view.flags.period;
  about.children = view.children.size();
  about.active = view.children.active();
  about.leftovers = view.leftovers;
  entry.supervisor = about;
  const bool pooled = row_of(about.strategy).is_pool;
  for (Children::Index index = view.children.first();
       index != Children::k_none && entry.children.size() < limits.children; index = view.children.after(index)) {
    entry.children.push_back(entry_of(view.children.at(index), pooled));
  }
}

void read_below(Runtime& runtime, TreeEntry& entry, const TreeLimits& limits, std::size_t depth) {
  if (entry.pid) entry.mailbox = runtime.mailbox_length(entry.pid);
  const auto view = detail::find_view(runtime, entry.pid);
  if (view == nullptr) return;
  read_supervisor(runtime, *view, limits, entry);
  if (depth >= limits.depth) return;
  for (TreeEntry& child : entry.children) read_below(runtime, child, limits, depth + 1);
}

// "60" for whole seconds, "500ms" for less.
std::string period_text(Duration period) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(period).count();
  return ms % 1000 == 0 ? fmt::format("{}", ms / 1000) : fmt::format("{}ms", ms);
}

std::string line_of(const TreeEntry& entry) {
  std::string line = entry.id.empty() ? entry.pid.text() : entry.id;
  if (entry.supervisor) {
    const TreeSupervisor& about = *entry.supervisor;
    line += fmt::format("  {} {}/{} used {}", strategy_name(about.strategy), about.intensity, period_text(about.period),
                        about.used);
  } else if (!entry.what.empty()) {
    line += "  " + entry.what;
  }
  line += fmt::format("  {} {}", restart_name(entry.restart), child_state_name(entry.state));
  if (entry.pid && !entry.id.empty()) line += " " + entry.pid.text();
  if (!entry.label.empty()) line += fmt::format(" [{}]", entry.label);
  if (entry.isolated) line += " isolated";
  if (entry.significant) line += " significant";
  if (entry.restarts != 0) line += fmt::format(" restarts {}", entry.restarts);
  if (entry.mailbox != 0) line += fmt::format(" mailbox {}", entry.mailbox);
  if (!entry.failures.empty()) line += fmt::format(" last failure: {}", entry.failures.back().reason);
  if (entry.supervisor && entry.supervisor->leftovers != 0) {
    line += fmt::format(" leftovers {}", entry.supervisor->leftovers);
  }
  // What people wrote must not break the picture.
  std::ranges::replace_if(line, [](char each) { return each == '\n' || each == '\r'; }, ' ');
  return line;
}

std::size_t hidden(const TreeEntry& entry) {
  return entry.supervisor ? entry.supervisor->children - entry.children.size() : 0;
}

void append_text(std::string& text, const TreeEntry& entry, const std::string& indent) {
  const std::size_t more = hidden(entry);
  for (std::size_t n = 0; n < entry.children.size(); ++n) {
    const bool last = n + 1 == entry.children.size() && more == 0;
    text += indent + (last ? "└─ " : "├─ ") + line_of(entry.children[n]) + "\n";
    append_text(text, entry.children[n], indent + (last ? "   " : "│  "));
  }
  if (more != 0) text += fmt::format("{}└─ and {} more\n", indent, more);
}

void append_json(std::string& json, const TreeEntry& entry) {
  using detail::json_string;
  json += fmt::format(R"({{"id":{},"type":"{}","state":"{}","restart":"{}","restarts":{},"mailbox":{})",
                      json_string(entry.id), type_name_of(entry.type), child_state_name(entry.state),
                      restart_name(entry.restart), entry.restarts, entry.mailbox);
  if (entry.pid) json += fmt::format(R"(,"pid":"{}")", entry.pid.text());
  if (!entry.what.empty()) json += fmt::format(R"(,"what":{})", json_string(entry.what));
  if (!entry.label.empty()) json += fmt::format(R"(,"label":{})", json_string(entry.label));
  if (entry.isolated) json += R"(,"isolated":true)";
  if (entry.significant) json += R"(,"significant":true)";
  json += R"(,"failures":[)";
  for (std::size_t n = 0; n < entry.failures.size(); ++n) {
    const TreeFailure& failure = entry.failures[n];
    json += fmt::format(R"({}{{"at_ns":{},"reason":{},"at_start":{}}})", n == 0 ? "" : ",",
                        failure.at.time_since_epoch().count(), json_string(failure.reason), failure.at_start);
  }
  json += "]";
  if (entry.supervisor) {
    const TreeSupervisor& about = *entry.supervisor;
    json += fmt::format(
        R"(,"strategy":"{}","used":{},"intensity":{},"period_ns":{},"child_count":{},"active":{},"leftovers":{})",
        strategy_name(about.strategy), about.used, about.intensity, about.period.count(), about.children, about.active,
        about.leftovers);
    json += R"(,"children":[)";
    for (std::size_t n = 0; n < entry.children.size(); ++n) {
      if (n != 0) json += ",";
      append_json(json, entry.children[n]);
    }
    json += "]";
  }
  json += "}";
}

// Quotes would end the label; Mermaid writes them as entities.
std::string mermaid_label(std::string_view text) {
  std::string label;
  for (const char each : text) {
    switch (each) {
      case '"':
        label += "#quot;";
        break;
      case '<':
        label += "#lt;";
        break;
      case '>':
        label += "#gt;";
        break;
      case '\n':
      case '\r':
        label += ' ';
        break;
      default:
        label += each;
    }
  }
  return label;
}

void append_mermaid(std::string& text, const TreeEntry& entry, std::size_t& next) {
  const std::size_t self = next++;
  const std::string name = mermaid_label(entry.id.empty() ? entry.pid.text() : entry.id);
  if (entry.supervisor) {
    text += fmt::format("  n{}[\"{}<br/>{} {}/{}\"]\n", self, name, strategy_name(entry.supervisor->strategy),
                        entry.supervisor->used, entry.supervisor->intensity);
  } else {
    text += fmt::format("  n{}([\"{}\"])\n", self, name);
  }
  if (entry.state != ChildState::running) text += fmt::format("  class n{} {}\n", self, child_state_name(entry.state));
  for (const TreeEntry& child : entry.children) {
    const std::size_t below = next;
    append_mermaid(text, child, next);
    text += fmt::format("  n{} --> n{}\n", self, below);
  }
  if (hidden(entry) != 0) {
    text += fmt::format("  n{}([\"and {} more\"])\n  n{} --> n{}\n", next, hidden(entry), self, next);
    ++next;
  }
}

}  // namespace

std::optional<TreeEntry> read_tree(Runtime& runtime, Pid root, const TreeLimits& limits) {
  TreeEntry entry;
  entry.pid = root;
  entry.type = ChildType::supervisor;
  entry.what = "Supervisor";
  read_below(runtime, entry, limits, 0);
  if (!entry.supervisor) return std::nullopt;
  return entry;
}

std::string tree_text(const TreeEntry& root) {
  std::string text = line_of(root) + "\n";
  append_text(text, root, "");
  return text;
}

std::string tree_json(const TreeEntry& root) {
  std::string json;
  append_json(json, root);
  return json;
}

std::string tree_mermaid(const TreeEntry& root) {
  std::string text =
      "flowchart LR\n"
      "  classDef restarting fill:#fd8\n"
      "  classDef parked fill:#f88\n"
      "  classDef down fill:#ccc\n";
  std::size_t next = 0;
  append_mermaid(text, root, next);
  return text;
}

}  // namespace skein::inline v0
