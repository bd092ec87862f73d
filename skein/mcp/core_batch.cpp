// Several messages at once, which only the revision 2025-03-26 has: a session of that version may send an array, and
// what it asks is answered together, once all of it is answered.
#include <algorithm>
#include <utility>

#include "skein/mcp/core.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_version_with_batches = "2025-03-26";

bool has_answer(const std::expected<RpcMessage, RpcFault>& message) {
  return !message || message->kind == RpcMessage::Kind::request;
}

}  // namespace

bool McpCore::may_batch() const { return session_ && session_->version == k_version_with_batches; }

void McpCore::receive_batch(StreamId from, std::string_view text) {
  auto all = parse_batch(text, setup_.limits);
  if (!all) return refuse(from, all.error().id, all.error().error);
  const auto answers = static_cast<std::size_t>(std::ranges::count_if(*all, has_answer));
  if (answers == 0) outlet_.end(from);
  in_batch_ = ++last_number_;
  // Counted beforehand: some are answered at once.
  if (answers > 0) batches_[in_batch_] = {from, answers};
  for (auto& each : *all) {
    if (!each) {
      answer_in_batch(in_batch_, make_error(each.error().id, each.error().error));
    } else if (each->kind == RpcMessage::Kind::notification) {
      on_notification(from, *each);
    } else if (each->kind == RpcMessage::Kind::response) {
      on_response(from, *each);
    } else if (each->method == "initialize") {
      answer_in_batch(in_batch_,
                      make_error(each->id, {k_invalid_request, "initialize must not be in a batch", nullptr}));
    } else {
      on_request(from, *each, {});
    }
  }
  in_batch_ = 0;
  sweep();
}

void McpCore::answer_in_batch(std::uint64_t batch, json::object answer) {
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return;
  found->second.answers.push_back(std::move(answer));
  count_down(batch);
}

void McpCore::count_down(std::uint64_t batch) {
  const auto found = batches_.find(batch);
  if (found == batches_.end() || --found->second.left > 0) return;
  Batch whole = std::move(found->second);
  batches_.erase(found);
  if (whole.answers.empty()) return outlet_.end(whole.stream);  // all were cancelled
  outlet_.send_batch(whole.stream, std::move(whole.answers));
}

void McpCore::send_last(StreamId to, std::uint64_t batch, json::object message, int status) {
  if (batch != 0) return answer_in_batch(batch, std::move(message));
  outlet_.send(to, std::move(message), Outlet::Then::end, status);
}

}  // namespace skein::inline v0::mcp
