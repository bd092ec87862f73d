// Tokens by operations, and what a token with bounds may see.
#include <gtest/gtest.h>

#include "skein/operations/test_operations.hpp"

namespace skein::operations {
namespace {

using namespace std::chrono_literals;
using ledger::Fence;
using ledger::Token;

struct OperationsTokensTest : OperationsTest {
  OperationsTokensTest() {
    access_->set_first("the file's secret");
    start_with_access();
    world_.apply({ledger::LedgerVersion{ledger::k_tokens_version}});
  }
  ~OperationsTokensTest() override { stop(); }

  void start_with_access() {
    ops_ = Operations::start({world_.journal(),
                              world_.ledger(),
                              archive_,
                              jobs_,
                              jobs_,
                              7,
                              nullptr,
                              {},
                              {},
                              access_,
                              [this](const std::string& secret) -> std::expected<void, std::string> {
                                if (disk_is_full_) return std::unexpected("no room");
                                kept_ = secret;
                                return {};
                              }},
                             {});
    settle();
  }

  Awaited<MadeToken> create(const TokenRequest& request) {
    return call<MadeToken>([&](auto reply) { ops_->token_create(request, std::move(reply)); });
  }
  Awaited<MadeToken> rotate(const std::string& name, std::chrono::milliseconds overlap = 0ms) {
    return call<MadeToken>([&](auto reply) { ops_->token_rotate({name, overlap}, std::move(reply)); });
  }
  std::string revoke(const std::string& name) {
    return call<Operations::Nothing>([&](auto reply) { ops_->token_revoke(name, std::move(reply)); }).code();
  }
  std::vector<Token> listed() {
    return call<TokensAnswer>([&](auto reply) { ops_->token_list(std::move(reply)); }).value().tokens;
  }
  Awaited<std::string> within(const Scope& scope, std::vector<TaskId> tasks) {
    return call<std::string>([&](auto reply) { ops_->check_scope(scope, tasks, std::move(reply)); });
  }
  Awaited<SubmitAnswer> submit_child(TaskId parent, Fence fence, const std::string& key = {}) {
    SubmitRequest request;
    request.key = key;
    request.child_of = ledger::ChildOf{parent, fence};
    return submit(request);
  }

  std::shared_ptr<Access> access_ = std::make_shared<Access>("key", [this] { return jobs_.wall_now(); });
  std::string kept_;
  bool disk_is_full_ = false;
};

TEST_F(OperationsTokensTest, a_token_works_from_its_creation_until_it_is_revoked) {
  const auto made = create({"ci", Rank::operate, 0ms, {}}).value();
  EXPECT_TRUE(made.secret.starts_with(k_token_prefix));
  EXPECT_EQ(made.secret.size(), k_token_prefix.size() + 64);
  const auto who = access_->identify(made.secret);
  ASSERT_NE(who, nullptr);
  EXPECT_EQ(who->rank, Rank::operate);
  EXPECT_EQ(create({"ci", Rank::read, 0ms, {}}).code(), "token_exists");
  EXPECT_EQ(revoke("ci"), "ok");
  EXPECT_FALSE(who->holds());
  EXPECT_EQ(revoke("ci"), "token_not_found");
}

TEST_F(OperationsTokensTest, bad_names_and_bounds_are_refused) {
  EXPECT_EQ(create({"", Rank::read, 0ms, {}}).code(), "invalid");
  EXPECT_EQ(create({"two words", Rank::read, 0ms, {}}).code(), "invalid");
  EXPECT_EQ(create({"first", Rank::read, 0ms, {}}).code(), "token_exists");
  EXPECT_EQ(create({"t", Rank::read, 0ms, {{1, 2}, "", 0, 0}}).code(), "invalid");
  EXPECT_EQ(create({"t", Rank::operate, 0ms, {{}, "", 2, 0}}).code(), "invalid");
  EXPECT_EQ(revoke("first"), "invalid");
  EXPECT_EQ(rotate("nobody").code(), "token_not_found");
}

TEST_F(OperationsTokensTest, is_made_for_a_swarm_and_a_task_that_are_there) {
  world_.apply({ledger::SwarmPut{"coders", ledger::Origin::api, {}}});
  const TaskId open = submitted();
  const TaskId done = submitted();
  world_.apply({ledger::Cancel{done, 3, ""}});
  const auto made = [&](TaskId task, const std::string& swarm) {
    return create({"t", Rank::operate, 0ms, {task, swarm, 0, 0}});
  };
  const auto unknown = made({}, "coder");
  EXPECT_EQ(unknown.code(), "swarm_not_found");
  EXPECT_NE(unknown.error().message.find("did you mean 'coders'"), std::string::npos) << unknown.error().message;
  EXPECT_EQ(made(TaskId{9, 9}, "").code(), "task_not_found");
  const auto other = made(open, "coders");
  EXPECT_EQ(other.code(), "invalid");
  EXPECT_NE(other.error().message.find("'default'"), std::string::npos) << other.error().message;
  for (const char* when : {"finished", "archived"}) {
    const auto ended = made(done, "");
    EXPECT_EQ(ended.code(), "already_finished") << when;
    EXPECT_NE(ended.error().message.find("cancelled"), std::string::npos) << ended.error().message;
    if (std::string_view(when) == "archived") break;
    start_archiver();
    archive_all();
  }
  EXPECT_EQ(made(open, "default").code(), "ok");
}

TEST_F(OperationsTokensTest, a_token_expires_and_a_rotation_gives_it_the_same_time_again) {
  const auto made = create({"ci", Rank::read, 1000ms, {}}).value();
  const auto who = access_->identify(made.secret);
  advance(999ms);
  EXPECT_TRUE(who->holds());
  const auto again = rotate("ci", 500ms).value();
  EXPECT_EQ(again.token.expires_at - again.token.made_at, 1000U);
  advance(1ms);
  EXPECT_TRUE(who->holds()) << "the overlap counts from the rotation";
  advance(499ms);
  EXPECT_FALSE(who->holds());
  EXPECT_NE(access_->identify(again.secret), nullptr);
  advance(500ms);
  EXPECT_EQ(access_->identify(again.secret), nullptr);
  ASSERT_EQ(listed().size(), 2U) << "one that has expired is listed until it is revoked";
}

TEST_F(OperationsTokensTest, tokens_are_there_after_a_restart_of_the_engine) {
  const auto made = create({"ci", Rank::read, 0ms, {}}).value();
  const auto before = access_->identify(made.secret);
  stop();
  EXPECT_TRUE(before->holds()) << "whoever is logged in stays so while the engine is away";
  access_ = std::make_shared<Access>("key", [this] { return jobs_.wall_now(); });
  start_with_access();
  EXPECT_NE(access_->identify(made.secret), nullptr);
}

TEST_F(OperationsTokensTest, the_first_token_is_rotated_in_its_file) {
  const auto made = rotate("first", 10s).value();
  EXPECT_EQ(kept_, made.secret);
  EXPECT_NE(access_->identify(made.secret), nullptr);
  EXPECT_NE(access_->identify("the file's secret"), nullptr);
  advance(10s);
  EXPECT_EQ(access_->identify("the file's secret"), nullptr);
  EXPECT_NE(access_->identify(made.secret), nullptr);
  const auto second = rotate("first").value();
  EXPECT_EQ(access_->identify(made.secret), nullptr) << "no overlap was asked for";
  EXPECT_EQ(kept_, second.secret);
}

TEST_F(OperationsTokensTest, a_file_that_cannot_be_written_leaves_the_first_token_as_it_was) {
  disk_is_full_ = true;
  EXPECT_EQ(rotate("first").code(), "internal");
  EXPECT_NE(access_->identify("the file's secret"), nullptr);
  disk_is_full_ = false;
  EXPECT_EQ(rotate("first").code(), "ok");
}

TEST_F(OperationsTokensTest, lists_the_first_one_too_and_no_secret) {
  create({"ci", Rank::read, 0ms, {{}, "default", 0, 0}});
  const auto all = listed();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "ci");
  EXPECT_EQ(all[1].name, "first");
  EXPECT_EQ(all[1].rank, Rank::administer);
}

TEST_F(OperationsTokensTest, an_attempt_sees_itself_and_its_children) {
  const TaskId parent = submitted();
  const TaskId stranger = submitted();
  const Fence fence = world_.assign(parent);
  const TaskId child = submit_child(parent, fence).value().id;
  EXPECT_EQ(within({parent, fence, {}}, {parent, child}).value(), "default");
  EXPECT_EQ(within({parent, fence, {}}, {stranger}).code(), "task_not_found");
  EXPECT_EQ(within({parent, fence, {}}, {TaskId{9, 9}}).code(), "task_not_found");
  EXPECT_EQ(within({parent, fence + 1, {}}, {}).code(), "forbidden");
  world_.apply({ledger::Complete{parent, fence, 3, nullptr}});
  EXPECT_EQ(within({parent, fence, {}}, {child}).code(), "forbidden") << "its attempt has ended";
  EXPECT_EQ(within({parent, 0, {}}, {child}).code(), "ok") << "a token for the task itself has not";
}

TEST_F(OperationsTokensTest, a_child_is_known_as_one_when_it_is_archived) {
  const TaskId parent = submitted();
  const Fence fence = world_.assign(parent);
  const TaskId child = submit_child(parent, fence).value().id;
  const TaskId stranger = submitted();
  world_.apply({ledger::Cancel{child, 3, ""}, ledger::Cancel{stranger, 3, ""}});
  start_archiver();
  archive_all();
  ASSERT_FALSE(world_.look([&](auto& ledger) { return ledger.find(child).has_value(); }))
      << "it is in the archive alone";
  EXPECT_EQ(within({parent, fence, {}}, {child}).code(), "ok");
  EXPECT_EQ(within({parent, fence, {}}, {stranger}).code(), "task_not_found");
}

TEST_F(OperationsTokensTest, errors_of_a_childs_submit_name_the_parent) {
  const TaskId parent = submitted();
  const Fence fence = world_.assign(parent);
  EXPECT_EQ(submit_child(parent, fence + 5).code(), "forbidden");
  for (std::uint32_t i = 0; i < ledger::k_children_max; ++i) ASSERT_EQ(submit_child(parent, fence).code(), "ok");
  const auto refused = submit_child(parent, fence);
  EXPECT_EQ(refused.code(), "child_limit");
  EXPECT_NE(refused.error().message.find(parent.text()), std::string::npos) << refused.error().message;
}

TEST_F(OperationsTokensTest, a_key_of_anothers_task_is_not_found_by_a_child) {
  const TaskId parent = submitted();
  SubmitRequest request;
  request.key = "taken";
  submit(request);
  const Fence fence = world_.assign(parent);
  EXPECT_EQ(submit_child(parent, fence, "taken").code(), "forbidden");
  const TaskId own = submit_child(parent, fence, "own").value().id;
  EXPECT_EQ(submit_child(parent, fence, "own").value().id, own);
}

TEST_F(OperationsTokensTest, a_swarm_is_a_bound_too) {
  world_.apply({ledger::SwarmPut{"coders", ledger::Origin::api, {}}});
  const TaskId elsewhere = submitted();
  SubmitRequest request;
  request.swarm = "coders";
  const TaskId own = submit(request).value().id;
  EXPECT_EQ(within({{}, 0, "coders"}, {own}).value(), "coders");
  EXPECT_EQ(within({{}, 0, "coders"}, {elsewhere}).code(), "task_not_found");
}

}  // namespace
}  // namespace skein::operations
