// Lists of tasks, open and finished, page by page.
//
// A walk begins at a moment: its cursor keeps F, the last finish number of then. First come the tasks that were open at
// that moment, by their number, wherever they are now: still open, or finished with a number above F. Then those
// finished up to F. So a task that ends during the walk is neither shown twice nor passed over.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "skein/archive/words.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

using archive::Finished;
using ledger::FinishNumber;
using ledger::TaskNumber;

struct Cursor {
  bool in_open = true;
  std::uint64_t below = 0;          // a task number while in_open, a finish number afterwards
  FinishNumber finished_up_to = 0;  // F

  [[nodiscard]] std::string text() const { return fmt::format("{}{}.{}", in_open ? 'o' : 'f', below, finished_up_to); }
  static std::optional<Cursor> parse(std::string_view text) {
    Cursor cursor;
    if (text.empty() || (text[0] != 'o' && text[0] != 'f')) return std::nullopt;
    cursor.in_open = text[0] == 'o';
    const char* const end = text.data() + text.size();
    const auto below = std::from_chars(text.data() + 1, end, cursor.below);
    if (below.ec != std::errc{} || below.ptr == end || *below.ptr != '.') return std::nullopt;
    const auto up_to = std::from_chars(below.ptr + 1, end, cursor.finished_up_to);
    if (up_to.ec != std::errc{} || up_to.ptr != end || cursor.below == 0) return std::nullopt;
    return cursor;
  }
};

class Page {
 public:
  Page(const ListRequest& request, const ledger::FrozenLedger& ledger, archive::Store* archive)
      : request_(request),
        ledger_(ledger),
        archive_(archive),
        words_(archive::words_of(request.text, archive::k_words_max)) {}

  Result<ListAnswer> make() {
    Cursor cursor;
    if (request_.cursor.empty()) {
      cursor = {true, ledger_.counters().last_number + 1, ledger_.counters().last_finished};
    } else if (const auto parsed = Cursor::parse(request_.cursor)) {
      cursor = *parsed;
    } else {
      return std::unexpected(Error{Code::bad_cursor,
                                   fmt::format("'{}' is not a cursor of this list", request_.cursor),
                                   "pass the cursor of the previous page, or leave it out to begin",
                                   {}});
    }
    if (cursor.in_open) {
      if (const auto error = add_open(cursor)) return std::unexpected(*error);
    }
    if (!cursor.in_open) {
      if (const auto error = add_finished(cursor)) return std::unexpected(*error);
    }
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::size_t room() const { return request_.limit - answer_.tasks.size(); }

  [[nodiscard]] bool wants(const ledger::Task& task) const {
    if (request_.state && task.state != *request_.state) return false;
    if (!request_.swarm.empty() && task.shape->swarm != request_.swarm) return false;
    if (!request_.id_prefix.empty() && !task.id.digits().starts_with(request_.id_prefix)) return false;
    return request_.type.empty() || task.shape->type == request_.type;
  }
  [[nodiscard]] bool wants(const ledger::FinishedTask& each) const {
    if (!wants(each.task)) return false;
    if (request_.finished_from != 0 && each.finished_at < request_.finished_from) return false;
    if (request_.finished_before != 0 && each.finished_at >= request_.finished_before) return false;
    return words_.empty() ||
           archive::has_words(words_, {ledger::view_of(each.task.params), ledger::view_of(each.result), each.message});
  }
  [[nodiscard]] bool wants_open() const { return request_.finished_from == 0 && request_.finished_before == 0; }

  [[nodiscard]] archive::Query query() const {
    return {.state = request_.state,
            .swarm = request_.swarm,
            .type = request_.type,
            .id_prefix = request_.id_prefix,
            .text = request_.text,
            .finished_from = request_.finished_from,
            .finished_before = request_.finished_before,
            .limit = room()};
  }
  // Asked for as many as there is room for, so whenever it may have more, the page is full.
  [[nodiscard]] bool asks_archive() const {
    return archive_ != nullptr && (!request_.state || ledger::is_finished(*request_.state));
  }

  std::optional<Error> add_open(Cursor& cursor) {
    std::map<TaskNumber, TaskStatus, std::greater<>> found;  // the last submitted first
    bool archive_has_more = false;
    if (wants_open()) {
      for (auto& task : ledger_.open_tasks()) {
        if (task.number >= cursor.below || !wants(task)) continue;
        if (!words_.empty() && !archive::has_words(words_, {ledger::view_of(task.params)})) continue;
        const auto number = task.number;
        found.emplace(number, TaskStatus{std::move(task), nullptr, false});
      }
    }
    for (const auto& each : ledger_.finished_tasks()) {
      if (each->finish_number <= cursor.finished_up_to || each->task.number >= cursor.below || !wants(*each)) continue;
      found.emplace(each->task.number, TaskStatus{each->task, each, false});
    }
    if (asks_archive() && ledger_.counters().archived_up_to > cursor.finished_up_to) {
      auto since = query();
      since.above = cursor.finished_up_to;
      since.submitted_below = cursor.below;
      since.order = archive::Query::SortOrder::last_submitted_first;
      const auto more = archive_->query(since);
      if (!more) return error_of(more.error());
      for (const auto& each : *more) found.emplace(each->task.number, TaskStatus{each->task, each, true});
      archive_has_more = more->size() == since.limit;
    }
    if (!take(found, cursor)) return std::nullopt;
    if (archive_has_more) {
      answer_.cursor = cursor.text();
      return std::nullopt;
    }
    cursor = {false, cursor.finished_up_to + 1, cursor.finished_up_to};
    return std::nullopt;
  }

  // Moves what was found into the page; false when the page is full before, and the next goes on where it ends.
  bool take(auto& found, Cursor& cursor) {
    for (auto& [number, status] : found) {
      if (room() == 0) {
        answer_.cursor = cursor.text();
        return false;
      }
      answer_.tasks.push_back(std::move(status));
      cursor.below = number;
    }
    return true;
  }

  std::optional<Error> add_finished(Cursor& cursor) {
    if (request_.state && !ledger::is_finished(*request_.state)) return std::nullopt;
    if (room() == 0) {
      answer_.cursor = cursor.text();
      return std::nullopt;
    }
    std::map<FinishNumber, TaskStatus, std::greater<>> found;  // the last finished first
    bool archive_has_more = false;
    for (const auto& each : ledger_.finished_tasks()) {
      if (each->finish_number >= cursor.below || !wants(*each)) continue;
      found.emplace(each->finish_number, TaskStatus{each->task, each, false});
    }
    if (asks_archive()) {
      auto before = query();
      before.below = cursor.below;
      const auto more = archive_->query(before);
      if (!more) return error_of(more.error());
      for (const auto& each : *more) found.emplace(each->finish_number, TaskStatus{each->task, each, true});
      archive_has_more = more->size() == before.limit;
    }
    if (!take(found, cursor)) return std::nullopt;
    if (archive_has_more) answer_.cursor = cursor.text();
    return std::nullopt;
  }

  const ListRequest& request_;
  const ledger::FrozenLedger& ledger_;
  archive::Store* archive_;
  const std::vector<std::string> words_;
  ListAnswer answer_;
};

// As ids are compared; nothing when no id begins like this.
std::optional<std::string> plain_prefix(std::string_view given) {
  constexpr std::size_t k_digits = 32;
  std::string digits;
  for (const char each : given) {
    if (each == '-') continue;
    if (std::isxdigit(static_cast<unsigned char>(each)) == 0) return std::nullopt;
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  if (digits.empty() || digits.size() > k_digits) return std::nullopt;
  return digits;
}

}  // namespace

void Operations::task_list(ListRequest request, Reply<ListAnswer> reply) {
  if (!request.id_prefix.empty()) {
    auto digits = plain_prefix(request.id_prefix);
    if (!digits) {
      return counted(std::move(reply))
          .fail(invalid(fmt::format("'{}' is not a task id or the beginning of one", request.id_prefix),
                        "ids look like 0197f0c2-0000-7000-8000-000000000000"));
    }
    request.id_prefix = std::move(*digits);
  }
  if (request.limit == 0)
    return counted(std::move(reply)).fail(invalid("limit must not be 0", "give a limit of at least 1"));
  request.limit = std::min(request.limit, limits_.page_max);
  on_ledger(counted(std::move(reply)),
            [self = shared_from_this(), request = std::move(request)](Reply<ListAnswer> answer) mutable {
              auto frozen = self->parts_.ledger.freeze();
              answer.when_dropped(Code::overloaded);
              self->parts_.reads.post([archive = self->parts_.archive, frozen = std::move(frozen),
                                       request = std::move(request), answer = std::move(answer)]() mutable {
                answer.when_dropped(Code::stopped);
                answer(Page(request, *frozen, archive).make());
              });
            });
}

}  // namespace skein::inline v0::operations
