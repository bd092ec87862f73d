// A connection to a node that speaks MCP, a message at a time, without blocking once it is there: for `skein mcp`. One
// thread.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "skein/base/fd.hpp"

namespace skein::cli {

class NodeLink {
 public:
  NodeLink() = default;
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  virtual ~NodeLink() = default;

  [[nodiscard]] virtual int fd() const = 0;
  virtual void put(std::string_view message) = 0;
  [[nodiscard]] std::size_t unsent() const { return out_.size() - out_at_; }
  // Writes what the socket takes. False: the node is gone.
  [[nodiscard]] bool write_some();
  // One read; whole messages are added to `messages`. False: nothing more will come.
  [[nodiscard]] virtual bool read_some(std::vector<std::string>& messages) = 0;
  // The client has nothing more to say; the node closes then.
  virtual void finish() = 0;
  // What the node said when it closed the connection; empty: nothing.
  [[nodiscard]] virtual std::string why_closed() const { return {}; }
  // Whether the node still answers what it was asked after finish().
  [[nodiscard]] virtual bool answers_after_finish() const = 0;

 protected:
  std::string out_;

 private:
  std::size_t out_at_ = 0;
};

// Why there is none, for people.
struct NoLink {
  std::string why{};
  bool is_final = false;  // trying the same again will not help: a wrong token, another version
  int code = k_exit_unreachable;
};
using LinkResult = std::expected<std::unique_ptr<NodeLink>, NoLink>;

// On the Unix socket of a connection that has been asked for MCP.
[[nodiscard]] std::unique_ptr<NodeLink> make_line_link(Fd socket);
// To a node's HTTP address, "http://127.0.0.1:7433" with or without "/mcp", in a WebSocket; bounded by a few seconds.
[[nodiscard]] LinkResult connect_by_url(const std::string& url, const std::string& token);
// What is wrong with a URL; empty: nothing.
[[nodiscard]] std::string url_problem(const std::string& url);

}  // namespace skein::cli
