// The clients of the simulated group: each has one operation at a time, asks any member, follows hints, asks again
// after a silence, and gives up now and then, which leaves the operation open for ever.
#include <fmt/format.h>

#include <memory>

#include "sim/raft_world.hpp"

namespace skein::sim::raft {

using consensus::Consensus;
using namespace std::chrono_literals;

void RaftWorld::client_acts(std::uint32_t index, std::uint64_t attempt) {
  Client& client = clients_[index];
  if (attempt != client.attempt) return;
  if (!client.operation) {
    if (history_.size() >= operations_max_) return;
    begin_operation(client);
  } else if (!is_healing_ && random_.chance(0.3)) {
    ++story_.counts["operations given up"];
    client.operation.reset();
    client.id = ++client_ids_;
    client.serial = 0;
    queue_.push(now_ + below(50ms), EventKind::client, index, 0, ++client.attempt);
    return;
  } else if (random_.chance(0.5)) {
    client.asks = 0;
  }
  ask(index);
}

void RaftWorld::begin_operation(Client& client) {
  Operation operation;
  operation.is_read = random_.chance(0.4);
  operation.client = client.id;
  operation.serial = ++client.serial;
  operation.key = random_.below(k_keys);
  operation.asked = now_;
  if (!operation.is_read) {
    for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) operation.values.push_back(random_.next());
  }
  client.operation = history_.size();
  history_.push_back(std::move(operation));
}

void RaftWorld::ask(std::uint32_t index) {
  Client& client = clients_[index];
  if (client.asks == 0 || random_.chance(0.2)) {
    do {
      client.asks = any_host().id;
    } while (!is_alive(client.asks));
  }
  const auto host = static_cast<std::uint32_t>(client.asks);
  const std::size_t operation = *client.operation;
  queue_.push(now_ + around(1ms), EventKind::request, host, 0,
              requests_.put({.client = index, .operation = operation, .serial = history_[operation].serial}));
  queue_.push(now_ + 100ms + below(900ms), EventKind::client, index, 0, ++client.attempt);
}

std::vector<Entry> RaftWorld::batch_of(const Operation& operation) {
  std::vector<Entry> batch;
  const auto count = static_cast<std::uint32_t>(operation.values.size());
  for (std::uint32_t index = 0; index < count; ++index) {
    const Command command{.client = operation.client,
                          .serial = operation.serial,
                          .index = index,
                          .count = count,
                          .key = static_cast<std::uint32_t>(operation.key),
                          .value = operation.values[index],
                          .padding = static_cast<std::uint32_t>(operation.values[index] % 100)};
    const auto bytes = std::make_shared<const std::string>(command.encode());
    Entry entry;
    entry.bytes = *bytes;
    entry.owner = bytes;
    batch.push_back(std::move(entry));
  }
  return batch;
}

// A request has come to a member.
void RaftWorld::serve(Host& host, Request request) {
  const Operation& operation = history_[request.operation];
  if (operation.is_read) {
    const bool is_skewed = host.clock_permille != 1'000;
    if (is_skewed) observer_.met(23);
    const std::uint64_t ticket = ++host.tickets;
    host.reads[ticket] = request;
    observer_.read_asked(host.id, ticket);
    call(host, [&](Consensus& core) { core.read(ticket); });
    return;
  }
  call(host, [&](Consensus& core) {
    const auto proposed = core.propose(batch_of(operation));
    if (proposed) {
      host.pending.emplace(proposed->last, Pending{.term = proposed->term, .request = request});
      return;
    }
    if (proposed.error().kind == consensus::Refusal::Kind::overloaded) observer_.met(26);
    reply(host, {.kind = Reply::Kind::not_done, .request = request, .leader = proposed.error().leader});
  });
}

void RaftWorld::reply(Host& host, Reply answer) {
  if (is_bad_ && random_.chance(0.03)) return;
  if (host.life == 0) return;
  queue_.push(now_ + around(1ms), EventKind::reply, 0, 0, replies_.put(answer));
}

void RaftWorld::is_answered(Reply answer) {
  const std::uint32_t index = answer.request.client;
  if (index >= clients_.size()) return;
  Client& client = clients_[index];
  if (client.operation != answer.request.operation) return;
  client.asks = answer.leader;
  Operation& operation = history_[*client.operation];
  if (answer.kind == Reply::Kind::not_done) {
    queue_.push(now_ + 5ms + below(60ms), EventKind::client, index, 0, ++client.attempt);
    return;
  }
  operation.answered = now_;
  operation.first = answer.first;
  operation.last = answer.last;
  operation.result = answer.result;
  note([&] {
    return fmt::format("{:.3f} client {} operation {} is answered: {} to {}",
                       static_cast<double>(now_.time_since_epoch().count()) / 1e6, operation.client, operation.serial,
                       operation.first, operation.last);
  });
  ++story_.counts[operation.is_read ? "reads answered" : "batches answered"];
  client.operation.reset();
  queue_.push(now_ + below(is_healing_ ? 5ms : 80ms), EventKind::client, index, 0, ++client.attempt);
}

// Somebody proposes more than can be decided at once, and does not wait for answers. All of it goes to one key, which
// the search leaves out: so many operations without an answer are too many for it.
void RaftWorld::flood(Host& host) {
  const std::uint32_t id = ++client_ids_;
  for (std::uint32_t serial = 1; serial <= 25 && host.runs() && !is_over(); ++serial) {
    Operation operation;
    operation.client = id;
    operation.serial = serial;
    operation.key = k_keys - 1;
    operation.asked = now_;
    for (int left = 0; left < 3; ++left) operation.values.push_back(random_.next());
    history_.push_back(std::move(operation));
    serve(host, {.client = ~0U, .operation = history_.size() - 1, .serial = serial});
  }
}

}  // namespace skein::sim::raft
