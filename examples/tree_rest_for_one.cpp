// A pipeline: each stage needs those before it. When the middle one crashes, it and those after it start afresh, and
// the first goes on. The tree is printed before and after.
#include <chrono>
#include <cstdio>

#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/tree_view.hpp"
#include "skein/supervision/trees.hpp"

using namespace std::chrono_literals;

struct Stage {
  void handle_info(skein::Self, skein::Message) {}
};

int main() {
  skein::RuntimeOptions options;
  options.seed = 1;
  skein::Runtime runtime(options);

  const skein::SupervisorSpec tree = skein::trees::supervisor(  //
      "pipeline", skein::trees::rest_for_one, {5, 60s},
      {
          skein::named_child<Stage>("reader", "reader"),
          skein::named_child<Stage>("parser", "parser"),
          skein::named_child<Stage>("writer", "writer"),
      });
  const auto pipeline = skein::start_supervisor(runtime, tree);
  if (!pipeline) return 1;
  const skein::Pid reader = runtime.whereis("reader");
  const skein::Pid parser = runtime.whereis("parser");
  const skein::Pid writer = runtime.whereis("writer");
  std::printf("%s\n", skein::tree_text(*skein::read_tree(runtime, pipeline->pid)).c_str());

  runtime.exit(parser, skein::ExitReason::kill());
  runtime.run_ready();
  std::printf("the parser was killed\n\n%s\n", skein::tree_text(*skein::read_tree(runtime, pipeline->pid)).c_str());

  const bool first_untouched = runtime.whereis("reader") == reader;
  const bool rest_new = runtime.whereis("parser") != parser && runtime.whereis("writer") != writer;
  return first_untouched && rest_new && runtime.whereis("writer") ? 0 : 1;
}
