#include "skein/ledger/command.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "skein/ledger/codec.hpp"
#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

std::string encode_results(const std::vector<OpResult>& results) {
  std::string out;
  begin_results(out, results.size());
  for (const OpResult& each : results) append_result(out, each);
  return out;
}

Submit full_submit() {
  auto op = submit_after(1, {2, 3});
  op.spec.swarm = "swarm";
  op.spec.capabilities = {"a", "b"};
  op.spec.params = body_of(std::string(1000, 'p'));
  op.spec.priority = k_critical;
  op.spec.attempts_max = 7;
  op.spec.timeout_ms = 1ULL << 40U;
  op.spec.not_before = 8;
  op.spec.deadline_at = ~0ULL;
  op.spec.extras.key = "key";
  op.spec.extras.trace = "trace";
  op.spec.extras.retry_of = task_id(9);
  return op;
}

Digest digest_of(std::uint8_t n) {
  Digest digest;
  digest.fill(n);
  return digest;
}

Token full_token() {
  return {"ci", digest_of(1), Rank::operate, 1'700'000'000'000ULL, ~0ULL, digest_of(2), 9, {task_id(4), "swarm", 2, 7}};
}

// What the program that reads it must know at least.
int version_needed(const Op& op) {
  if (std::holds_alternative<TokenPut>(op) || std::holds_alternative<TokenRevoke>(op)) return 4;
  if (std::holds_alternative<Unpin>(op)) return 3;
  return std::holds_alternative<FallBack>(op) ? 2 : 1;
}

// One of each, with nothing left at its default.
std::vector<Op> all_ops() {
  Limits limits;
  limits.open_tasks = 77;
  limits.field_bytes = 78;
  return {full_submit(),
          Assign{1, task_id(1), "agent", 2},
          Start{task_id(1), 3, 4},
          Progress{task_id(1), 3, 4, body_of("mark")},
          Complete{task_id(1), 3, 4, body_of("result")},
          Fail{task_id(1), 3, 4, ErrorClass::crash, 5, "message"},
          Requeue{1, task_id(1), 3, 4, RequeueReason::node_crash, 5, true},
          Cancel{task_id(1), 4, "reason"},
          Retry{task_id(1), task_id(2), 4},
          Expire{1, task_id(1), 4},
          Age{1, {{task_id(1), std::uint16_t{60}}, {task_id(2), std::uint16_t{65'535}}}},
          TakeDispatch{"node", 4},
          SwarmPut{"s", Origin::config, {{"a", "1"}, {"b", "2"}}},
          SwarmOverride{"s", {{"a", "3"}}},
          SwarmDropOverrides{"s"},
          SwarmSetState{"s", SwarmState::stopped},
          SwarmSetBreaker{"s", Breaker::half_open, 9},
          SwarmRemove{"s"},
          AgentPut{"a", {{"role", "worker"}}},
          AgentRemove{"a"},
          EvictKeys{5, 6},
          Archived{7},
          SetLimits{limits},
          LedgerVersion{1},
          FallBack{1, task_id(1), 3, 4, FallbackCause::node_crash, ErrorClass::resource, 5, "message", "s"},
          Unpin{1, task_id(1), 4},
          TokenPut{full_token(), digest_of(3)},
          TokenRevoke{"ci"}};
}

Submit placed_submit() {
  auto op = full_submit();
  op.spec.extras.placement =
      std::make_shared<const Placement>(Placement{"ada", AgentFallback::any, 1ULL << 40U, "customer", 0});
  return op;
}

Submit child_submit() {
  auto op = placed_submit();
  op.child_of = std::make_shared<const ChildOf>(ChildOf{task_id(5), 6, 2, 7});
  return op;
}

TEST(Command, every_operation_reads_as_it_was_written) {
  const auto ops = all_ops();
  ASSERT_EQ(ops.size(), std::variant_size_v<Op>);
  const auto bytes = encode_command(ops);
  const auto read = decode_command(bytes);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), ops.size());
  std::vector<Op> again;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ASSERT_TRUE((*read)[i]) << i;
    EXPECT_EQ((*read)[i]->index(), ops[i].index());
    again.push_back(*(*read)[i]);
  }
  EXPECT_EQ(encode_command(again), bytes);
  const auto& spec = std::get<Submit>(again[0]).spec;
  EXPECT_EQ(spec.extras, full_submit().spec.extras);
  EXPECT_EQ(view_of(spec.params), view_of(full_submit().spec.params));
  EXPECT_EQ(spec.deadline_at, ~0ULL);
  EXPECT_EQ(std::get<Requeue>(again[6]).reason, RequeueReason::node_crash);
  EXPECT_EQ(std::get<SetLimits>(again[22]).limits.field_bytes, 78U);
  const auto& handed = std::get<FallBack>(again[24]);
  EXPECT_EQ(handed.cause, FallbackCause::node_crash);
  EXPECT_EQ(handed.error, ErrorClass::resource);
  EXPECT_EQ(handed.retry_at, 5U);
  EXPECT_EQ(handed.message, "message");
  EXPECT_EQ(handed.to, "s");
  const auto& put = std::get<TokenPut>(again[26]);
  EXPECT_EQ(put.token, full_token());
  EXPECT_EQ(put.was, digest_of(3));
}

TEST(Command, a_submit_of_a_task_reads_as_it_was_written) {
  auto plain = child_submit();
  plain.spec.extras.placement = nullptr;
  for (const Submit& op : {child_submit(), plain}) {
    const auto bytes = encode_command(op);
    const auto read = decode_command(bytes);
    ASSERT_TRUE(read && read->size() == 1 && (*read)[0]);
    const auto& again = std::get<Submit>(*(*read)[0]);
    EXPECT_EQ(again.spec.extras, op.spec.extras);
    ASSERT_TRUE(again.child_of);
    EXPECT_EQ(again.child_of->task, task_id(5));
    EXPECT_EQ(again.child_of->fence, 6U);
    EXPECT_EQ(again.child_of->depth_max, 2U);
    EXPECT_EQ(again.child_of->children_max, 7U);
    CommandFrames whole(bytes);
    const auto frame = whole.next();
    for (std::size_t n = 0; n < frame.body.size(); ++n) {
      EXPECT_FALSE(decode_op({frame.opcode, frame.body.substr(0, n)})) << n;
    }
  }
}

TEST(Command, has_the_lowest_version_that_knows_its_operations) {
  for (const auto& op : all_ops()) {
    EXPECT_EQ(encode_command(op)[0], version_needed(op)) << op.index();
  }
  EXPECT_EQ(encode_command(all_ops())[0], 4);
  EXPECT_EQ(encode_command(child_submit())[0], 4) << "an older program must not read it as a task of nobody";
  EXPECT_EQ(encode_command(placed_submit())[0], 3) << "an older program must not read it as a submit for anybody";
  EXPECT_EQ(encode_command(full_submit())[0], 1) << "a submit for anybody is what it was";
  auto needless = encode_command(submit(1));
  needless[0] = 2;
  EXPECT_EQ(decode_command(needless), std::nullopt) << "a command has one form";
  CommandBuilder builder;
  builder.add(all_ops().back());
  EXPECT_EQ(builder.take()[0], 4);
  builder.add(Archived{1});
  EXPECT_EQ(builder.take()[0], 1) << "what was taken is forgotten";
}

TEST(Command, a_submit_with_a_placement_reads_as_it_was_written) {
  const auto bytes = encode_command(placed_submit());
  const auto read = decode_command(bytes);
  ASSERT_TRUE(read && read->size() == 1 && (*read)[0]);
  const auto& extras = std::get<Submit>(*(*read)[0]).spec.extras;
  EXPECT_EQ(extras, placed_submit().spec.extras);
  EXPECT_EQ(extras.where(), (Placement{"ada", AgentFallback::any, 1ULL << 40U, "customer", 0}));
  CommandFrames whole(bytes);
  const auto frame = whole.next();
  for (std::size_t n = 0; n < frame.body.size(); ++n) {
    EXPECT_FALSE(decode_op({frame.opcode, frame.body.substr(0, n)})) << n;
  }
}

TEST(Command, a_placement_that_says_nothing_or_nonsense_is_malformed) {
  for (const Placement& bad : {Placement{}, Placement{"", AgentFallback::any, 0, "key", 0},
                               Placement{"", AgentFallback::by_config, 5, "key", 0}}) {
    auto op = submit(1);
    op.spec.extras.placement = std::make_shared<const Placement>(bad);
    const auto read = decode_command(encode_command(op));
    ASSERT_TRUE(read && read->size() == 1);
    EXPECT_FALSE((*read)[0]);
  }
}

TEST(Command, cut_anywhere_it_is_malformed_and_does_nothing) {
  const auto bytes = encode_command(all_ops());
  Ledger ledger;
  const auto before = ledger.digest();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(decode_command(bytes.substr(0, n)), std::nullopt) << n;
    const auto answer = decode_results(ledger.apply(n + 1, bytes.substr(0, n)));
    ASSERT_TRUE(answer && answer->size() == 1) << n;
    EXPECT_EQ(answer->front().verdict, Verdict::malformed);
  }
  EXPECT_EQ(decode_command(bytes + '\0'), std::nullopt);
  EXPECT_EQ(ledger.digest(), before);
}

TEST(Command, a_body_cut_anywhere_is_malformed_alone) {
  for (const auto& op : all_ops()) {
    const auto bytes = encode_command(op);
    CommandFrames whole(bytes);
    ASSERT_TRUE(whole.ok());
    const auto frame = whole.next();
    EXPECT_TRUE(decode_op(frame));
    for (std::size_t n = 0; n < frame.body.size(); ++n) {
      EXPECT_FALSE(decode_op({frame.opcode, frame.body.substr(0, n)})) << op.index() << " at " << n;
    }
    EXPECT_FALSE(decode_op({frame.opcode, std::string(frame.body) + '\0'})) << op.index();
  }
}

TEST(Command, a_malformed_operation_does_not_harm_its_neighbours) {
  std::string bytes;
  Writer w(bytes);
  w.byte(k_first_command_version);
  w.number(3U);
  const auto good = encode_command(submit(1)).substr(2);
  bytes += good;
  w.byte(static_cast<std::uint8_t>(Opcode::cancel));
  w.text("nonsense");
  bytes += encode_command(submit(2)).substr(2);
  Ledger ledger;
  const auto answer = decode_results(ledger.apply(1, bytes));
  ASSERT_TRUE(answer && answer->size() == 3);
  EXPECT_EQ((*answer)[0].verdict, Verdict::ok);
  EXPECT_EQ((*answer)[1].verdict, Verdict::malformed);
  EXPECT_EQ((*answer)[2].verdict, Verdict::ok);
  EXPECT_TRUE(ledger.find(task_id(2)));
}

TEST(Command, what_a_newer_program_wrote_stops_this_one_before_anything_is_applied) {
  Ledger ledger;
  const auto before = ledger.digest();
  auto newer = encode_command(submit(1));
  newer[0] = static_cast<char>(k_command_version + 1);
  EXPECT_THROW(ledger.apply(1, newer), UnknownEntry);
  auto before_its_time = encode_command(all_ops().back());
  before_its_time[0] = static_cast<char>(k_first_command_version);
  EXPECT_THROW(ledger.apply(1, before_its_time), UnknownEntry) << "version 1 has no tokens";
  auto placed = encode_command(placed_submit());
  placed[0] = 2;
  EXPECT_THROW(ledger.apply(1, placed), UnknownEntry) << "version 2 knows no placements";
  for (const unsigned opcode : {0U, 13U, 32U, 255U}) {
    std::string bytes;
    Writer w(bytes);
    w.byte(k_command_version);
    w.number(2U);
    bytes += encode_command(submit(1)).substr(2);
    w.byte(static_cast<std::uint8_t>(opcode));
    w.text("");
    EXPECT_THROW(ledger.apply(1, bytes), UnknownEntry) << opcode;
  }
  EXPECT_EQ(ledger.digest(), before);
}

TEST(Command, holds_only_so_many_operations) {
  CommandBuilder builder;
  for (std::uint64_t i = 0; i < k_ops_max; ++i) ASSERT_TRUE(builder.add(Archived{0}));
  EXPECT_FALSE(builder.add(Archived{0}));
  EXPECT_EQ(builder.count(), k_ops_max);
  const auto size = builder.bytes();
  const auto bytes = builder.take();
  EXPECT_GE(size, bytes.size());
  EXPECT_EQ(decode_command(bytes)->size(), k_ops_max);
  EXPECT_EQ(builder.count(), 0U);
}

TEST(Command, an_empty_one_is_malformed) {
  EXPECT_EQ(decode_command(encode_command(std::span<const Op>{})), std::nullopt);
}

TEST(Codec, a_number_has_one_form) {
  const auto read = [](std::string_view bytes) {
    Reader r(bytes);
    std::uint64_t v = 0;
    r.number(v);
    return r.done() ? std::optional(v) : std::nullopt;
  };
  EXPECT_EQ(read(std::string_view("\x00", 1)), 0U);
  EXPECT_EQ(read("\x7f"), 127U);
  EXPECT_EQ(read("\x80\x01"), 128U);
  EXPECT_EQ(read(std::string_view("\x80\x00", 2)), std::nullopt);
  EXPECT_EQ(read(std::string_view("\xff\x80\x00", 3)), std::nullopt);
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ~0ULL);
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), std::nullopt);
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"), std::nullopt);
}

RC_GTEST_PROP(Codec, numbers_round_trip, (std::uint64_t n, std::int64_t s, unsigned shift)) {
  const std::uint64_t small = n >> (shift % 64U);
  std::string bytes;
  Writer w(bytes);
  w.number(small);
  w.signed_number(s);
  Reader r(bytes);
  std::uint64_t n_read = 0;
  std::int64_t s_read = 0;
  r.number(n_read);
  r.signed_number(s_read);
  RC_ASSERT(r.done());
  RC_ASSERT(n_read == small);
  RC_ASSERT(s_read == s);
}

RC_GTEST_PROP(Command, any_bytes_are_read_or_refused, (std::string bytes, bool framed)) {
  if (framed) bytes.insert(0, std::string(bytes.size() % 2 == 0 ? "\x01\x01" : "\x02\x01", 2));
  Ledger ledger;
  try {
    RC_ASSERT(decode_results(ledger.apply(1, bytes)).has_value());
  } catch (const UnknownEntry&) {
    RC_TAG("unknown");
  }
}

RC_GTEST_PROP(Results, round_trip, (std::vector<std::tuple<unsigned, unsigned, std::uint64_t, std::uint64_t>> raw)) {
  std::vector<OpResult> results;
  for (const auto& [verdict, state, number, id] : raw) {
    OpResult each;
    each.verdict = static_cast<Verdict>(verdict % 22 + 1);
    if (state % 9 != 0) each.state = static_cast<State>(state % 9);
    each.number = number;
    each.task = {id, id};
    results.push_back(each);
  }
  RC_ASSERT(decode_results(encode_results(results)) == results);
}

TEST(Results, most_take_one_byte) { EXPECT_EQ(encode_results(std::vector<OpResult>{{}, {}}).size(), 4U); }

}  // namespace
}  // namespace skein::ledger
