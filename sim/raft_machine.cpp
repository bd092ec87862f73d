#include "sim/raft_machine.hpp"

#include <cstring>

#include "skein/base/bytes.hpp"

namespace skein::sim::raft {

using consensus::EntryKind;
using consensus::EntryView;
using consensus::Membership;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 32U);
}

std::uint64_t digest_of(const EntryView& entry) {
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(entry.kind), entry.ends_batch ? 1 : 2);
  std::string_view bytes = entry.bytes;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    hash = mixed(hash, word);
  }
  for (const char byte : bytes) hash = mixed(hash, static_cast<unsigned char>(byte));
  return hash;
}

std::string Command::encode() const {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(client);
  out.u32(serial);
  out.u32(index);
  out.u32(count);
  out.u32(key);
  out.u64(value);
  out.zeros(padding);
  return bytes;
}

std::optional<Command> Command::decode(std::string_view bytes) {
  ByteReader in(bytes);
  Command command;
  command.client = in.u32();
  command.serial = in.u32();
  command.index = in.u32();
  command.count = in.u32();
  command.key = in.u32();
  command.value = in.u64();
  if (!in.ok() || command.key >= k_keys) return std::nullopt;
  return command;
}

void RaftMachine::apply(const EntryView& entry) {
  position_ = entry.position;
  term_ = entry.term;
  std::uint64_t result = 0;
  if (entry.kind == EntryKind::membership) {
    if (auto membership = Membership::decode(entry.bytes)) membership_ = std::move(*membership);
  } else if (entry.kind == EntryKind::command) {
    result = apply_command(entry);
  }
  hash_ = mixed(mixed(mixed(mixed(hash_, position_), term_), digest_of(entry)), result);
}

std::uint64_t RaftMachine::apply_command(const EntryView& entry) {
  const auto command = Command::decode(entry.bytes);
  if (!command) return 0;
  Session& session = sessions_[command->client];
  if (command->serial < session.serial) return session.value;
  if (command->serial > session.serial) session = {command->serial, 0, entry.position, 0, 0};
  if (command->index != session.next_index) return session.value;
  ++session.next_index;
  keys_[command->key] = mixed(keys_[command->key], command->value);
  session.last = entry.position;
  session.value = keys_[command->key];
  return session.value;
}

const RaftMachine::Session* RaftMachine::session(std::uint32_t client) const {
  const auto found = sessions_.find(client);
  return found == sessions_.end() ? nullptr : &found->second;
}

std::string RaftMachine::freeze() const {
  std::string bytes;
  ByteWriter out(bytes);
  out.u64(position_);
  out.u64(term_);
  out.u64(hash_);
  for (const std::uint64_t value : keys_) out.u64(value);
  out.blob(membership_.encode());
  out.u32(static_cast<std::uint32_t>(sessions_.size()));
  for (const auto& [client, session] : sessions_) {
    out.u32(client);
    out.u32(session.serial);
    out.u32(session.next_index);
    out.u64(session.first);
    out.u64(session.last);
    out.u64(session.value);
  }
  return bytes;
}

bool RaftMachine::restore(std::string_view bytes) {
  ByteReader in(bytes);
  RaftMachine read;
  read.position_ = in.u64();
  read.term_ = in.u64();
  read.hash_ = in.u64();
  for (std::uint64_t& value : read.keys_) value = in.u64();
  const auto membership = Membership::decode(in.blob());
  for (std::uint32_t left = in.u32(); in.ok() && left > 0; --left) {
    Session& session = read.sessions_[in.u32()];
    session.serial = in.u32();
    session.next_index = in.u32();
    session.first = in.u64();
    session.last = in.u64();
    session.value = in.u64();
  }
  if (!in.done() || !membership) return false;
  read.membership_ = *membership;
  *this = std::move(read);
  return true;
}

}  // namespace skein::sim::raft
