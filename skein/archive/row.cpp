#include "skein/archive/row.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "skein/base/crc32c.hpp"
#include "skein/ledger/limits.hpp"

namespace skein::inline v0::archive {
namespace {

namespace json = boost::json;
using ledger::TaskId;

// Boost's own string, from bytes of ours.
json::string text_of(std::string_view bytes) { return json::string(bytes.data(), bytes.size()); }
std::string string_of(const json::string& text) { return {text.data(), text.size()}; }

json::object placement_of(const ledger::Placement& where) {
  json::object out;
  if (!where.agent.empty()) out["agent"] = text_of(where.agent);
  if (where.fallback != ledger::AgentFallback::by_config) out["fallback"] = static_cast<std::uint64_t>(where.fallback);
  if (where.wait_ms != 0) out["wait_ms"] = where.wait_ms;
  if (!where.route_key.empty()) out["route_key"] = text_of(where.route_key);
  if (where.unpinned_at != 0) out["unpinned_at"] = where.unpinned_at;
  return out;
}

// What few tasks have, and what is never searched for, in one readable column.
std::string details_of(const ledger::Task& task) {
  json::object details;
  const auto& extras = task.more();
  if (!task.shape->capabilities.empty()) {
    json::array names;
    for (const auto& each : task.shape->capabilities) names.emplace_back(text_of(each));
    details["capabilities"] = std::move(names);
  }
  if (!extras.dependencies.empty()) {
    json::array ids;
    for (const auto& each : extras.dependencies) ids.emplace_back(text_of(each.text()));
    details["dependencies"] = std::move(ids);
  }
  if (!extras.key.empty()) details["key"] = text_of(extras.key);
  if (!extras.trace.empty()) details["trace"] = text_of(extras.trace);
  if (extras.placement) details["placement"] = placement_of(*extras.placement);
  if (!extras.retry_of.none()) details["retry_of"] = text_of(extras.retry_of.text());
  if (!extras.parent.none()) {
    details["parent"] = text_of(extras.parent.text());
    details["depth"] = extras.depth;
  }
  if (task.children != 0) details["children"] = task.children;
  if (!extras.fallbacks.empty()) {
    json::array fallbacks;
    for (const auto& each : extras.fallbacks) {
      json::object step;
      step["swarm"] = text_of(each.swarm);
      step["attempts"] = each.attempts;
      step["at"] = each.at;
      fallbacks.emplace_back(std::move(step));
    }
    details["hops"] = std::move(fallbacks);
  }
  if (task.history && !task.history->empty()) {
    json::array attempts;
    for (const auto& each : *task.history) {
      json::object attempt;
      attempt["agent"] = text_of(each.agent);
      attempt["fence"] = each.fence;
      attempt["started_at"] = each.started_at;
      attempt["ended_at"] = each.ended_at;
      attempt["error"] = static_cast<std::uint64_t>(each.error);
      attempt["message"] = text_of(each.message);
      attempts.emplace_back(std::move(attempt));
    }
    details["attempts"] = std::move(attempts);
  }
  return details.empty() ? std::string() : json::serialize(details);
}

std::string string_in(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? string_of(value->get_string()) : std::string();
}

std::uint64_t number_in(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_int64()) return static_cast<std::uint64_t>(value->get_int64());
  return value->is_uint64() ? value->get_uint64() : 0;
}

std::shared_ptr<const ledger::Placement> placement_in(const json::object& details) {
  const auto* value = details.if_contains("placement");
  if (value == nullptr || !value->is_object()) return nullptr;
  const auto& from = value->get_object();
  ledger::Placement where;
  where.agent = string_in(from, "agent");
  where.fallback = static_cast<ledger::AgentFallback>(std::min<std::uint64_t>(number_in(from, "fallback"), 2));
  where.wait_ms = number_in(from, "wait_ms");
  where.route_key = string_in(from, "route_key");
  where.unpinned_at = number_in(from, "unpinned_at");
  if (where.empty() || !where.makes_sense()) return nullptr;
  return std::make_shared<const ledger::Placement>(std::move(where));
}

template <class Each>
void for_each_in(const json::object& object, const char* name, Each each) {
  const auto* list = object.if_contains(name);
  if (list == nullptr || !list->is_array()) return;
  for (const auto& item : list->get_array()) each(item);
}

bool read_details(std::string_view text, ledger::Task& task, ledger::Shape& shape, bool brief) {
  if (text.empty()) return true;
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // a message is what an agent wrote
  boost::system::error_code bad;
  const auto value = json::parse({text.data(), text.size()}, bad, {}, options);
  if (bad || !value.is_object()) return false;
  const auto& details = value.get_object();
  for_each_in(details, "capabilities", [&](const json::value& each) {
    if (each.is_string()) shape.capabilities.push_back(string_of(each.get_string()));
  });
  ledger::Extras extras;
  for_each_in(details, "dependencies", [&](const json::value& each) {
    if (!each.is_string()) return;
    if (const auto id = TaskId::parse(string_of(each.get_string()))) extras.dependencies.push_back(*id);
  });
  extras.key = string_in(details, "key");
  extras.trace = string_in(details, "trace");
  extras.placement = placement_in(details);
  extras.retry_of = TaskId::parse(string_in(details, "retry_of")).value_or(TaskId{});
  extras.parent = TaskId::parse(string_in(details, "parent")).value_or(TaskId{});
  if (!extras.parent.none()) extras.depth = static_cast<std::uint32_t>(number_in(details, "depth"));
  task.children = static_cast<std::uint32_t>(number_in(details, "children"));
  for_each_in(details, "hops", [&](const json::value& each) {
    if (!each.is_object() || extras.fallbacks.size() == ledger::k_fallbacks_max) return;
    const auto& from = each.get_object();
    extras.fallbacks.push_back(
        {string_in(from, "swarm"), static_cast<std::uint32_t>(number_in(from, "attempts")), number_in(from, "at")});
  });
  if (!extras.empty()) task.extras = std::make_shared<const ledger::Extras>(std::move(extras));
  if (brief) return true;
  std::vector<ledger::Attempt> attempts;
  for_each_in(details, "attempts", [&](const json::value& each) {
    if (!each.is_object()) return;
    const auto& from = each.get_object();
    const auto error = static_cast<ledger::ErrorClass>(number_in(from, "error"));
    attempts.push_back({string_in(from, "agent"), number_in(from, "fence"), number_in(from, "started_at"),
                        number_in(from, "ended_at"), error, string_in(from, "message")});
  });
  if (!attempts.empty()) task.history = std::make_shared<const std::vector<ledger::Attempt>>(std::move(attempts));
  return true;
}

// Sixteen hex digits each, to 8-4-4-4-12 and from there.
std::optional<TaskId> id_of(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  std::string text(digits);
  for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, 1, '-');
  return TaskId::parse(text);
}

constexpr int k_retried_as = 21;  // places in k_columns
constexpr int k_checksum = k_checksum_column;
constexpr int k_after_checksum = 24;

// A column after the other, each with its length, so that no two rows have the same bytes.
class Sum {
 public:
  void add(std::uint64_t number) {
    char bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    crc_ = crc32c({bytes, sizeof bytes}, crc_);
  }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    crc_ = crc32c(text, crc_);
  }
  [[nodiscard]] std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_ = 0;
};

RowChecksum both(const Sum& brief, const Sum& body) { return (RowChecksum{brief.value()} << 32U) | body.value(); }

// Of the columns from one to another.
void add_columns(Sum& sum, const Statement& row, int from, int to) {
  for (int at = from; at <= to; ++at) {
    const bool is_text = at == 1 || at == 3 || at == 4 || (at >= 19 && at != k_checksum);
    is_text ? sum.add(row.text(at)) : sum.add(row.number(at));
  }
}

std::uint32_t body_sum(const Statement& row) {
  Sum sum;
  add_columns(sum, row, 0, 1);
  add_columns(sum, row, k_after_checksum, k_column_count - 1);
  return sum.value();
}

// Binds and adds to the sum, column by column.
class Binder {
 public:
  Binder(Statement& statement, Sum& sum) : statement_(statement), sum_(sum) {}
  void number(std::uint64_t value) {
    statement_.bind(++at_, value);
    sum_.add(value);
  }
  void text(std::string_view value) {  // that goes away
    statement_.bind(++at_, value);
    sum_.add(value);
  }
  void lasting(std::string_view value) {
    statement_.bind_static(++at_, value);
    sum_.add(value);
  }

 private:
  Statement& statement_;
  Sum& sum_;
  int at_ = 0;
};

}  // namespace

std::string row_id(TaskId id) { return id.digits(); }

RowChecksum bind_row(Statement& s, const ledger::FinishedTask& each) {
  const auto& task = each.task;
  const std::string id = row_id(task.id);
  Sum brief;
  Binder b(s, brief);
  b.number(each.finish_number);
  b.text(id);
  b.number(task.number);
  b.lasting(task.shape->swarm);
  b.lasting(task.shape->type);
  b.number(static_cast<std::uint64_t>(task.state));
  b.number(static_cast<std::uint64_t>(each.ending));
  for (const std::uint64_t value :
       {std::uint64_t{task.priority}, std::uint64_t{task.attempts}, std::uint64_t{task.attempts_max},
        std::uint64_t{task.deliveries}, task.fence, task.timeout_ms, task.submitted_at, task.not_before,
        task.deadline_at, task.assigned_at, task.started_at, each.finished_at}) {
    b.number(value);
  }
  b.lasting(ledger::view_of(task.agent));
  b.lasting(each.message);
  b.text(each.retried_as.none() ? std::string() : row_id(each.retried_as));
  b.text(details_of(task));
  Sum body;
  body.add(each.finish_number);
  body.add(std::string_view(id));
  int at = k_after_checksum;
  for (const auto& value : {ledger::view_of(task.params), ledger::view_of(each.result), ledger::view_of(task.mark)}) {
    s.bind_static(++at, value);
    body.add(value);
  }
  const RowChecksum checksum = both(brief, body);
  s.bind(k_checksum + 1, checksum);
  return checksum;
}

RowChecksum checksum_of(const Statement& row) {
  Sum brief;
  add_columns(brief, row, 0, k_checksum - 1);
  return (RowChecksum{brief.value()} << 32U) | body_sum(row);
}

RowChecksum checksum_with(const Statement& row, std::string_view retried_as) {
  Sum brief;
  add_columns(brief, row, 0, k_retried_as - 1);
  brief.add(retried_as);
  add_columns(brief, row, k_retried_as + 1, k_checksum - 1);
  return (RowChecksum{brief.value()} << 32U) | (row.number(k_checksum) & 0xFFFF'FFFFU);
}

std::expected<Finished, std::string_view> read_row(const Statement& row, bool brief, const Unsummed& unsummed) {
  static constexpr std::string_view k_nonsense = "it makes no sense";
  static constexpr std::string_view k_changed = "its checksum is wrong";
  const bool is_old = row.is_null(k_checksum) && unsummed.has(row.number(0));
  if (!is_old) {
    Sum seen;
    add_columns(seen, row, 0, k_checksum - 1);
    const RowChecksum expected = row.number(k_checksum);
    if (row.is_null(k_checksum) || seen.value() != expected >> 32U) return std::unexpected(k_changed);
    if (!brief && body_sum(row) != (expected & 0xFFFF'FFFFU)) return std::unexpected(k_changed);
  }
  auto each = std::make_shared<ledger::FinishedTask>();
  auto& task = each->task;
  auto shape = std::make_shared<ledger::Shape>();
  int at = -1;
  const auto small = [&] { return static_cast<std::uint32_t>(row.number(++at)); };
  each->finish_number = row.number(++at);
  const auto id = id_of(row.text(++at));
  if (!id || id->none() || each->finish_number == 0) return std::unexpected(k_nonsense);
  task.id = *id;
  task.number = row.number(++at);
  shape->swarm = row.text(++at);
  shape->type = row.text(++at);
  task.state = static_cast<ledger::State>(row.number(++at));
  each->ending = static_cast<ledger::Ending>(row.number(++at));
  task.priority = static_cast<std::uint16_t>(row.number(++at));
  task.effective_priority = task.priority;
  task.attempts = small();
  task.attempts_max = small();
  task.deliveries = small();
  task.fence = row.number(++at);
  task.timeout_ms = row.number(++at);
  task.submitted_at = row.number(++at);
  task.not_before = row.number(++at);
  task.deadline_at = row.number(++at);
  task.assigned_at = row.number(++at);
  task.started_at = row.number(++at);
  each->finished_at = row.number(++at);
  task.agent = ledger::body_of(row.text(++at));
  each->message = row.text(++at);
  each->retried_as = id_of(row.text(++at)).value_or(TaskId{});
  if (!ledger::is_finished(task.state) || !read_details(row.text(++at), task, *shape, brief))
    return std::unexpected(k_nonsense);
  task.shape = std::move(shape);
  if (brief) return each;
  at = k_checksum;
  task.params = ledger::body_of(row.text(++at));
  each->result = ledger::body_of(row.text(++at));
  task.mark = ledger::body_of(row.text(++at));
  return each;
}

}  // namespace skein::inline v0::archive
