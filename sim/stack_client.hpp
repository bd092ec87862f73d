// A client of the simulation: asks a node for things through the operations, as a program would that knows what the
// answers mean. With a key it sends again until it knows; without one it leaves it or risks a second task. It cancels,
// retries, waits for and looks at tasks it was told of, and checks in the end that all of them are there.
// A process of the runtime; answers come on the journal's.
#pragma once

#include <string>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/operations/operations.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

class StackWorld;

// Kept by the world, which outlives the process.
class StackClient {
 public:
  StackClient(StackWorld& world, std::size_t number, std::uint64_t seed, std::size_t submits_max);

  // Does one thing, if there is something to do.
  void act();
  // Everything it wants is known, and nothing is under way.
  [[nodiscard]] bool is_content() const;
  // The node died: answers will not come.
  void lost_node();
  // Asks for everything it was ever told of; the answers go to the oracle.
  void check_all();
  [[nodiscard]] std::string describe() const;

 private:
  struct Wish {
    operations::SubmitRequest request;
    std::uint32_t sends = 0;
    bool is_under_way = false;
    bool is_over = false;  // told of, given up, or refused for good
    ledger::TaskId id;
  };
  void wish_for_something();
  void wish_for_agent(operations::SubmitRequest& request);
  void send(std::size_t wish);
  void told(std::size_t wish, const std::string& params, const operations::Result<operations::SubmitAnswer>& answer);
  void look_at_something();
  void control_swarm();
  template <class T, class Fn>
  operations::Reply<T> reply(Fn fn);

  StackWorld& world_;
  std::size_t number_;
  Random random_;
  std::size_t submits_max_;
  std::vector<Wish> wishes_;
  std::vector<ledger::TaskId> known_;  // those it was told of
  std::size_t under_way_ = 0;
};

}  // namespace skein::sim
