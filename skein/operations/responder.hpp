// Where the answers of one request go: to the process that asked, which makes the JSON. Nothing here knows a socket.
// Any thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "skein/operations/json_forms.hpp"
#include "skein/operations/reply.hpp"
#include "skein/operations/requests.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::operations {

namespace json = boost::json;

// An answer on its way to the connection that asked. Its JSON is made there.
struct Answer {
  enum class Kind : std::uint8_t { ok, part, error };
  std::uint64_t id = 0;
  Kind kind = Kind::ok;
  std::unique_ptr<std::move_only_function<json::value()>> make;
};

// Where the answers of one request go. Any thread; copies go to the same place.
class Responder {
 public:
  // With a ticket the requester can give up a wait, see Operations::give_up().
  Responder(Runtime& runtime, Pid connection, std::uint64_t id, std::shared_ptr<WaitTicket> ticket = nullptr)
      : runtime_(&runtime), to_(connection), id_(id), ticket_(std::move(ticket)) {}

  void send(Answer::Kind kind, std::move_only_function<json::value()> make) const {
    runtime_->notify(to_, Answer{id_, kind, std::make_unique<std::move_only_function<json::value()>>(std::move(make))});
  }
  void fail(Error error) const {
    send(Answer::Kind::error, [error = std::move(error)] { return to_json(error); });
  }
  // By reference throughout: GCC 12 warns of an uninitialised value when an expected is moved by value.
  template <class T>
  void answer(Result<T>&& result) const {
    if (!result) return fail(std::move(result.error()));
    send(Answer::Kind::ok,
         [value = std::make_unique<T>(std::move(result.value()))]() -> json::value { return to_json(*value); });
  }
  template <class T>
  [[nodiscard]] Reply<T> reply() const {
    return Reply<T>([to = *this](Result<T>&& result) { to.answer<T>(std::move(result)); });
  }
  [[nodiscard]] Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] Pid connection() const { return to_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const std::shared_ptr<WaitTicket>& ticket() const { return ticket_; }

 private:
  Runtime* runtime_;
  Pid to_;
  std::uint64_t id_;
  std::shared_ptr<WaitTicket> ticket_;
};

}  // namespace skein::inline v0::operations
