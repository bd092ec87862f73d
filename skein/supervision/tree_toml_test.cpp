#include "skein/supervision/tree_toml.hpp"

#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

WorkerTypes types() {
  WorkerTypes made;
  made["echo"] = [](const WorkerParams& params) {
    auto how = plan();
    if (params.contains("slow")) how->slow = std::chrono::milliseconds(std::stoi(params.at("slow")));
    if (params.contains("bad")) throw std::invalid_argument("bad is not a parameter");
    return start_function<Worker>(how);
  };
  return made;
}

std::string error_of(std::string_view text) {
  const auto spec = tree_from_toml(text, "tree.toml", types());
  return spec ? "fine" : spec.error();
}

constexpr std::string_view k_tree = R"([supervisor]
name = "node"
strategy = "rest_for_one"
intensity = 5
period = "60s"

[[supervisor.child]]
id = "config"
worker = "echo"
params = { slow = 10 }
restart = "transient"
shutdown = "2s"
label = "service"
backoff = { kind = "exponential", initial = "200ms", jitter = 0 }

[[supervisor.child]]
id = "work"

[supervisor.child.supervisor]
strategy = "one_for_one"

[[supervisor.child.supervisor.child]]
id = "a"
worker = "echo"
isolated = true
budget = { intensity = 2, period = "1min", park = "30s" }
)";

TEST(TreeToml, reads_a_tree_with_every_policy) {
  const auto spec = tree_from_toml(k_tree, "tree.toml", types());
  ASSERT_TRUE(spec) << spec.error();
  EXPECT_EQ(spec->name, "node");
  EXPECT_EQ(spec->flags, (SupervisorFlags{Strategy::rest_for_one, 5, 60s, AutoShutdown::never}));
  ASSERT_EQ(spec->children.size(), 2U);
  const ChildSpec& config = spec->children[0];
  EXPECT_EQ(config.restart, Restart::transient);
  EXPECT_EQ(config.shutdown, Shutdown::after(2s));
  EXPECT_EQ(config.label, "service");
  EXPECT_EQ(config.backoff.initial, 200ms);
  EXPECT_EQ(config.backoff.kind, BackoffKind::exponential);
  EXPECT_EQ(spec->children[1].type, ChildType::supervisor);
  EXPECT_EQ(spec->children[1].effective_shutdown(), Shutdown::infinity());
}

class TreeTomlRun : public SupervisorTest {};

TEST_F(TreeTomlRun, the_tree_runs) {
  auto spec = tree_from_toml(k_tree, "tree.toml", types());
  ASSERT_TRUE(spec) << spec.error();
  const Pid root = start(std::move(*spec));
  EXPECT_EQ(counts(root), (Counts{2, 2, 1, 1}));
  EXPECT_EQ(state_of(pid_of(root, "work"), "a"), "running");
}

TEST(TreeToml, says_file_line_and_what_to_do) {
  EXPECT_EQ(error_of("[supervisor]\nstrategy = \"one_for_al\"\n"),
            "tree.toml:2: unknown strategy 'one_for_al' (did you mean 'one_for_all'?)");
  EXPECT_EQ(error_of("[supervisor]\n\nintensty = 3\n"),
            "tree.toml:3: unknown key 'intensty' (did you mean 'intensity'?)");
  EXPECT_THAT(error_of("[supervisor]\nperiod = 5\n"), HasSubstr("tree.toml:2: period must be a string"));
  EXPECT_THAT(error_of("[supervisor]\nperiod = \"5 parsecs\"\n"), StartsWith("tree.toml:2: period must be a time"));
  EXPECT_THAT(error_of("[supervisor]\nperiod = \"0s\"\n"), HasSubstr("period must be more than 0"));
  EXPECT_THAT(error_of("[supervisor]\nintensity = -1\n"), StartsWith("tree.toml:2: intensity must be a whole number"));
  EXPECT_THAT(error_of("[supervisor]\n[[supervisor.child]]\nworker = \"echo\"\n"), HasSubstr("has no id"));
  EXPECT_EQ(error_of("[supervisor]\n[[supervisor.child]]\nid = \"a\"\nworker = \"ecko\"\n"),
            "tree.toml:4: unknown worker 'ecko' (did you mean 'echo'?)");
  EXPECT_EQ(error_of("[supervisor]\n[[supervisor.child]]\nid = \"a\"\nworker = \"echo\"\nparams = { bad = 1 }\n"),
            "tree.toml:4: worker 'echo': bad is not a parameter");
  EXPECT_THAT(error_of("[supervisor]\n[[supervisor.child]]\nid = \"a\"\n"), HasSubstr("either worker or supervisor"));
  EXPECT_THAT(error_of("[supervisor]\n[[supervisor.child]]\nid = \"a\"\nworker = \"echo\"\nsignificant = true\n"),
              HasSubstr("permanent child can't be significant"));
  EXPECT_THAT(error_of("[supervisor]\nchild = 3\n"), HasSubstr("array of tables"));
  EXPECT_THAT(error_of("[supervisor\n"), StartsWith("tree.toml:1: "));
  EXPECT_EQ(error_of(""), "tree.toml:1: there is no [supervisor]");
  EXPECT_THAT(error_of("[[supervisor]]\n"), HasSubstr("supervisor must be a table"));
}

TEST(TreeToml, refuses_what_is_too_long_or_too_deep) {
  EXPECT_THAT(error_of(std::string(k_toml_bytes + 1, '#')), HasSubstr("split the tree"));
  std::string deep = "[supervisor]\n";
  std::string path = "supervisor";
  for (int n = 0; n < k_toml_depth + 2; ++n) {
    deep += "[[" + path + ".child]]\nid = \"x\"\n[" + path + ".child.supervisor]\n";
    path += ".child.supervisor";
  }
  EXPECT_THAT(error_of(deep), HasSubstr("within each other"));
}

}  // namespace
}  // namespace skein::inline v0::testing
