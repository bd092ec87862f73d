// What travels between processes: one pooled node of 128 bytes with the payload inside, or boxed when it is larger.
//
// User code sees `Message`, a view of the node its process is handling; it stays valid until the handler has finished,
// also across co_await. The node belongs to exactly one owner at any time: sender, mailbox, or the handling process.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "skein/base/type_name.hpp"
#include "skein/runtime/exit_reason.hpp"
#include "skein/runtime/pid.hpp"
#include "skein/runtime/pool.hpp"

namespace skein::inline v0 {

// The identity of a monitor, unique within the process that monitors. A default one means none.
struct MonitorRef {
  std::uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
  friend bool operator==(MonitorRef, MonitorRef) = default;
};

// Delivered to handle_info when a monitored process is dead (or never lived: reason noproc).
struct Down {
  MonitorRef ref;
  Pid pid;
  ExitReason reason;
};

// Delivered to handle_info of a process that traps exits, for an exit signal it got.
struct Exit {
  Pid from;
  ExitReason reason;
};

// A request gets an answer; its payload says who may give it (call.hpp).
namespace detail {

enum class MessageKind : std::uint8_t {
  info,         // an ordinary message; also Down and Exit on their way to handle_info
  request,      // a call: `entry` knows its handler
  cast,         // likewise, nobody waits
  reply,        // the answer to `ref`
  start_reply,  // the answer to a synchronous start
  job_done,     // a blocking job of this process returned
  tick,         // its wheel entry fired: look at the deadline
  notice,       // for handle_info like info, but it always gets in: who sends it sees to it that it is not flooded
  exit_signal,  // from here on: signals, which always get in
  link,         // payload: the Pid it is meant for; unlink and monitor likewise
  unlink,
  unlink_ack,
  monitor,
  demonitor,
  down,
  look,  // ask for its state
};

[[nodiscard]] constexpr bool is_bounded(MessageKind kind) { return kind <= MessageKind::cast; }

struct PayloadType {
  std::string_view name;
  void (*destroy)(std::byte* payload) noexcept;
  std::uint32_t bytes;
};

struct HandlerEntry;
class OutsideCall;

inline constexpr std::size_t k_payload_bytes = 64;

struct MessageNode {
  MessageNode* next = nullptr;
  std::uint32_t depth;           // nodes below and including this one in the mailbox's stack; only by atomic_ref
  std::uint32_t generation = 0;  // of the process it is meant for
  Pid from;
  std::uint64_t ref = 0;
  const PayloadType* type = nullptr;
  const HandlerEntry* entry = nullptr;
  OutsideCall* outside = nullptr;  // a request of an ordinary thread: who waits
  MessageKind kind = MessageKind::info;
  bool flag = false;      // exit_signal: came over a link; reply: carries a CallError; down: void, for nobody
  bool answered = false;  // request: nobody waits any more
  alignas(16) std::byte payload[k_payload_bytes];

  // Leaves `depth` alone: a sender may be reading it of the message this block was before.
  MessageNode() {}  // NOLINT
};
static_assert(sizeof(MessageNode) == 128);

template <class T>
inline constexpr bool k_fits_inline =
    sizeof(T) <= k_payload_bytes && alignof(T) <= 16 && std::is_nothrow_move_constructible_v<T>;

template <class T>
void destroy_payload(std::byte* payload) noexcept {
  if constexpr (k_fits_inline<T>) {
    std::launder(reinterpret_cast<T*>(payload))->~T();
  } else {
    delete *std::launder(reinterpret_cast<T**>(payload));
  }
}

template <class T>
inline constexpr PayloadType k_payload_type{
    type_name<T>(), std::is_trivially_destructible_v<T>&& k_fits_inline<T> ? nullptr : &destroy_payload<T>, sizeof(T)};

[[nodiscard]] inline MessageNode* new_node(MessageKind kind) {
  auto* node = new (pool_take(PoolClass::message)) MessageNode;
  node->kind = kind;
  return node;
}

inline void clear_payload(MessageNode* node) noexcept {
  if (node->type != nullptr && node->type->destroy != nullptr) node->type->destroy(node->payload);
  node->type = nullptr;
}

inline void free_node(MessageNode* node) noexcept {
  clear_payload(node);
  pool_give(PoolClass::message, node);
}

// Puts a value into a node that carries none. Throws only what T's constructor or the allocator throws.
template <class T, class... Args>
void set_payload(MessageNode* node, Args&&... args) {
  if constexpr (k_fits_inline<T>) {
    new (node->payload) T(std::forward<Args>(args)...);
  } else {
    new (node->payload) T*(new T(std::forward<Args>(args)...));
  }
  node->type = &k_payload_type<T>;
}

template <class T>
[[nodiscard]] T& payload_as(MessageNode* node) {
  if constexpr (k_fits_inline<T>) {
    return *std::launder(reinterpret_cast<T*>(node->payload));
  } else {
    return **std::launder(reinterpret_cast<T**>(node->payload));
  }
}

template <class T>
[[nodiscard]] MessageNode* make_node(MessageKind kind, T&& value) {
  using Value = std::decay_t<T>;
  MessageNode* node = new_node(kind);
  if constexpr (k_fits_inline<Value> && std::is_nothrow_constructible_v<Value, T&&>) {
    set_payload<Value>(node, std::forward<T>(value));
  } else {
    try {
      set_payload<Value>(node, std::forward<T>(value));
    } catch (...) {
      free_node(node);
      throw;
    }
  }
  return node;
}

}  // namespace detail

// The message a handler was given.
class Message {
 public:
  explicit Message(detail::MessageNode* node) : node_(node) {}

  // The sender; nobody for ordinary threads and timers.
  [[nodiscard]] Pid from() const { return node_->from; }
  [[nodiscard]] std::string_view type_name() const {
    return node_->type == nullptr ? std::string_view{} : node_->type->name;
  }
  template <class T>
  [[nodiscard]] bool is() const {
    return node_->type == &detail::k_payload_type<T>;
  }
  // The payload if it is a T, else nullptr.
  template <class T>
  [[nodiscard]] T* get_if() const {
    return is<T>() ? &detail::payload_as<T>(node_) : nullptr;
  }

 private:
  detail::MessageNode* node_;
};

}  // namespace skein::inline v0
