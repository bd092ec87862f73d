// The loop of `skein mcp`: carries lines between standard input and output and a node, and finds the node again when it
// goes. What is owed to the client while there is none is the business of mcp::Bridge. One thread.
//
// Buffers are bounded: nothing is read from a side while the other has not taken k_carrier_unsent_max of what is for
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/node_link.hpp"
#include "cli/patience.hpp"
#include "skein/mcp/bridge.hpp"

namespace skein::cli {

class SignalGate;

class Carrier {
 public:
  // `connect` is called whenever there is no node; it may take seconds. `is_wanted`: somebody waits for an answer; else
  // a node is looked for, and need not be started.
  using Connect = std::function<LinkResult(bool is_wanted)>;
  Carrier(Connect connect, const Patience& patience) : connect_(std::move(connect)), patience_(patience) {}

  // Until the client has closed its side and is answered, also where the node cannot be had at all: each request is
  // told why then. The program's exit code. Throws GaveUp when a signal came.
  int run();

 private:
  void try_connect();
  void on_gone();
  // Hands on what is due. False: nobody listens any more.
  [[nodiscard]] bool pump();
  void finish_if_due();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] int wait_ms() const;
  // Waits until something can be done, and does it. False: nobody listens any more.
  [[nodiscard]] bool serve(SignalGate& gate);
  void read_input();
  void take_input(std::string_view bytes);
  void end_line();
  [[nodiscard]] bool write_output();
  [[nodiscard]] bool write_output_now();
  void read_node();
  void say(const std::string& what);

  Connect connect_;
  const Patience& patience_;
  mcp::Bridge bridge_;
  std::unique_ptr<NodeLink> link_;  // null: there is no node
  bool was_connected_ = false;
  bool was_wanted_ = false;       // when a node was looked for last
  bool has_tried_ = false;        // to find one
  bool has_asked_ = false;        // the client, since then
  bool was_interrupted_ = false;  // a node went that owed answers, when the client had closed its side
  NoLink no_link_{};
  std::string said_;
  Instant next_try_{};
  Duration pause_{};
  std::vector<char> read_;  // room for one read
  std::string in_;          // of a line that is not whole
  mcp::MessageGlance too_long_{};
  bool is_too_long_ = false;
  bool is_input_over_ = false;
  bool is_finished_ = false;  // and the node knows
  Instant finish_until_{};
  std::string out_;
  std::size_t out_at_ = 0;
  bool is_out_socket_ = true;  // until it is known better
};

}  // namespace skein::cli
