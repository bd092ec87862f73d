#include "skein/consensus/message.hpp"

namespace skein::inline v0::consensus {

std::string_view name_of(PeerMessageKind kind) {
  switch (kind) {
    case PeerMessageKind::append:
      return "append";
    case PeerMessageKind::append_response:
      return "append_response";
    case PeerMessageKind::heartbeat:
      return "heartbeat";
    case PeerMessageKind::heartbeat_response:
      return "heartbeat_response";
    case PeerMessageKind::vote_request:
      return "vote_request";
    case PeerMessageKind::vote_response:
      return "vote_response";
    case PeerMessageKind::pre_vote_request:
      return "pre_vote_request";
    case PeerMessageKind::pre_vote_response:
      return "pre_vote_response";
    case PeerMessageKind::snapshot_chunk:
      return "snapshot_chunk";
    case PeerMessageKind::snapshot_response:
      return "snapshot_response";
    case PeerMessageKind::timeout_now:
      return "timeout_now";
    case PeerMessageKind::removed:
      return "removed";
  }
  return "unknown";
}

}  // namespace skein::inline v0::consensus
