// skein chaos kill: ends processes of a running node on purpose.
#include <fmt/format.h>

#include "cli/session.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

struct Arguments {
  Session session;
  std::string target;
  std::string signal = "kill";
  std::uint64_t count = 1;
};

}  // namespace

void add_chaos(Verb& root) {
  const auto args = std::make_shared<Arguments>();
  Verb chaos = root.verb("chaos", "Break a running node on purpose, to see it mend itself");
  chaos.needs_verb();
  Verb kill = chaos.verb("kill", "Kill processes of the tree; prints which");
  kill.place("TARGET", args->target, "A path such as agents_sup/agent_pool/* or engine_sup/work_sup, a name, a Pid");
  kill.option("--signal", args->signal, "kill, or crash: a reason that can be trapped");
  kill.option("--count", args->count, "So many of those that match, chosen at random");
  args->session.add_to(kill);
  kill.run([args] {
    return ask_and_show(args->session, "chaos_kill",
                        {{"target", args->target}, {"signal", args->signal}, {"count", args->count}},
                        [](const json::value& answer) {
                          for (const json::value& each : list_of(answer, "killed")) {
                            fmt::print("{}\n", std::string_view(each.get_string()));
                          }
                        });
  });
}

}  // namespace skein::cli
