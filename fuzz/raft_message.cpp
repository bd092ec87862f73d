// Messages between members: what is read is written as the same bytes, and whatever a member is told, it goes on. The
// first byte chooses the role of the member that is told; the rest are messages, each after its length in two bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "skein/base/bytes.hpp"
#include "skein/consensus/consensus.hpp"
#include "skein/consensus/message_codec.hpp"

namespace {

using namespace skein::consensus;  // NOLINT(google-build-using-namespace)

// A follower of three, a leader of three, or a learner, with ten entries of two terms.
Consensus member_with_role(std::uint8_t role) {
  StartState state;
  state.self = role % 3 == 2 ? 4 : 1;
  state.hard = {.term = 3, .voted_for = 0, .commit = 5};
  state.terms.append_run(6, 1);
  state.terms.append_run(10, 2);
  state.membership = Membership({1, 2, 3}, {4});
  auto member = *Consensus::start(std::move(state), {}, skein::Instant{}, role);
  if (role % 3 != 1) return member;
  member.tick(skein::Instant(std::chrono::seconds(10)));
  member.step({.kind = PeerMessageKind::pre_vote_response, .from = 2, .to = 1, .term = member.term() + 1});
  while (member.has_ready()) {
    const Ready ready = member.ready();
    if (ready.store) member.stored(ready.store->number);
    if (member.role() == MemberRole::candidate) {
      member.step({.kind = PeerMessageKind::vote_response, .from = 2, .to = 1, .term = member.term()});
    }
    if (member.role() == MemberRole::leader) break;
  }
  return member;
}

void serve(Consensus& member) {
  for (int rounds = 0; member.has_ready() && rounds < 100; ++rounds) {
    const Ready ready = member.ready();
    for (const auto& fetch : ready.fetches) member.fetched(fetch.reader, fetch.from, {});
    for (const auto& chunk : ready.chunks) {
      member.chunk_written(chunk.chunk->offer.position, chunk.chunk->end(),
                           chunk.chunk->is_last() ? ChunkResult::complete : ChunkResult::written);
    }
    if (ready.store) member.stored(ready.store->number);
    if (!ready.apply.empty()) member.applied(ready.apply.back().position);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Consensus member = member_with_role(data[0]);
  serve(member);
  skein::ByteReader in({reinterpret_cast<const char*>(data) + 1, size - 1});
  while (in.ok() && in.left() > 2) {
    const std::size_t length = in.u8() + 256U * in.u8();
    const auto bytes = std::make_shared<const std::string>(in.raw(length));
    auto message = decode_message(bytes);
    if (!message) continue;
    std::string again;
    encode_message(again, *message);
    if (again != *bytes) std::abort();
    message->to = member.self();
    member.step(std::move(*message));
    serve(member);
  }
  return 0;
}
