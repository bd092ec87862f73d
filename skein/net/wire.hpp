// The bytes of one connection, on their way in and out, without blocking. Belongs to the process that serves it, which
// the poller tells when there is something to do: read_some() and write_some() then, arm() at the end of each turn.
//
// It limits nothing itself: the reader decides how much of in() may gather, the writer how much may be unsent().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "skein/net/client.hpp"
#include "skein/net/fd_poller.hpp"

namespace skein::inline v0::net {

inline constexpr std::size_t k_read_bytes = 64ULL << 10U;   // in one read
inline constexpr std::size_t k_write_chunk = 1ULL << 20U;   // sent bytes are dropped when so many have gathered
inline constexpr std::size_t k_kept_bytes = 256ULL << 10U;  // a buffer that was larger is given back when it is empty

class Wire {
 public:
  Wire(std::shared_ptr<FdPoller> poller, ClientPtr client) : poller_(std::move(poller)), client_(std::move(client)) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  enum class Got { bytes, nothing, end };
  // One read, appended to in(). `end`: the other side has closed, or the connection broke.
  Got read_some();
  [[nodiscard]] const std::string& in() const { return in_; }
  // Drops the first bytes of in().
  void consume(std::size_t count);

  void put(std::string_view bytes) { out_ += bytes; }
  // As much as the socket takes. False: nobody is left to write to, and what was unsent is dropped.
  bool write_some();
  [[nodiscard]] std::size_t unsent() const { return out_.size() - out_at_; }
  void drop_unsent();

  // `to` is told when more can be read, if wanted, or written, if something is unsent.
  void arm(Pid to, bool wants_read) { poller_->arm(client_->fd.get(), to, wants_read, unsent() > 0, !has_ended_); }
  // The other side will send nothing more; read_some() notices by itself.
  void note_end() { has_ended_ = true; }
  // Until it is trusted, `to` gets a MakeRoom when others need the client's place. By the process that serves it.
  void make_room_by(Pid to);
  // The client has shown that it may be here: it is trusted and keeps its place when others need one.
  void trust() { client_->place.trust(); }
  // Says that nothing more will be written; the other side sees the end.
  void end_output();

 private:
  std::shared_ptr<FdPoller> poller_;
  ClientPtr client_;
  std::string in_;
  std::string out_;
  std::size_t out_at_ = 0;
  bool has_ended_ = false;
};

}  // namespace skein::inline v0::net
