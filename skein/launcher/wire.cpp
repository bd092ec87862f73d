#include "skein/launcher/wire.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "skein/base/bytes.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr std::size_t k_control_bytes = CMSG_SPACE(sizeof(int) * k_packet_fds_max);

void take_fds(msghdr& header, Packet& packet) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(each) + (i * sizeof(int)), sizeof fd);
      packet.fds.emplace_back(fd);
    }
  }
  packet.fds_lost = (header.msg_flags & MSG_CTRUNC) != 0;
}

}  // namespace

std::expected<std::pair<Fd, Fd>, int> packet_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::unexpected(errno);
  std::pair<Fd, Fd> made{Fd(ends[0]), Fd(ends[1])};
  for (Fd* each : {&made.first, &made.second}) {
    if (each->get() > STDERR_FILENO) continue;
    each->reset(::fcntl(each->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!*each) return std::unexpected(errno);
  }
  return made;
}

bool send_packet(int socket, Kind kind, std::string_view body, std::span<const int> fds, bool wait) {
  auto tag = static_cast<std::uint8_t>(kind);
  std::array<iovec, 2> parts{{{&tag, 1}, {const_cast<char*>(body.data()), body.size()}}};
  alignas(cmsghdr) std::array<char, k_control_bytes> control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

Got receive_packet(int socket, Packet& packet, bool wait) {
  // Not cleared: most packets are small, and every keeper has one of these.
  thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(k_packet_bytes_max);
  packet = {};
  iovec part{buffer.get(), k_packet_bytes_max};
  alignas(cmsghdr) std::array<char, k_control_bytes> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Got::nothing : Got::closed;
  take_fds(header, packet);
  if (got == 0) return Got::closed;
  packet.kind = static_cast<Kind>(buffer[0]);
  packet.body = std::string_view(buffer.get() + 1, static_cast<std::size_t>(got) - 1);
  return Got::packet;
}

std::string encode_wish(const KeeperWish& wish) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(wish.is_private ? 1 : 0);
  writer.u32(static_cast<std::uint32_t>(wish.hidden.size()));
  for (const std::string& each : wish.hidden) writer.blob(each);
  return out;
}

bool decode_wish(std::string_view body, KeeperWish& wish) {
  ByteReader reader(body);
  wish.is_private = reader.u8() != 0;
  for (std::uint32_t n = reader.u32(); n > 0 && reader.ok(); --n) wish.hidden.emplace_back(reader.blob());
  return reader.done();
}

std::string encode_answer(const KeeperAnswer& answer) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(answer.is_private ? 1 : 0);
  writer.u32(static_cast<std::uint32_t>(answer.pid));
  writer.blob(encode_failure(answer.why));
  return out;
}

KeeperAnswer decode_answer(std::string_view body) {
  ByteReader reader(body);
  KeeperAnswer answer;
  answer.is_private = reader.u8() != 0;
  answer.pid = static_cast<pid_t>(reader.u32());
  answer.why = reader.blob();
  return answer;
}

std::string encode_number(std::uint32_t number) {
  std::string out;
  ByteWriter(out).u32(number);
  return out;
}

std::uint32_t decode_number(std::string_view body) { return ByteReader(body).u32(); }

std::string encode_failure(std::string_view why) { return std::string(why.substr(0, k_spec_bytes_max)); }

std::string encode_exit(const ExitNote& note) {
  std::string out;
  ByteWriter writer(out);
  writer.u32(static_cast<std::uint32_t>(note.status));
  writer.u8(note.clean ? 1 : 0);
  writer.u64(note.user_us);
  writer.u64(note.system_us);
  writer.u64(note.max_rss_bytes);
  return out;
}

ExitNote decode_exit(std::string_view body) {
  ByteReader reader(body);
  ExitNote note;
  note.status = static_cast<int>(reader.u32());
  note.clean = reader.u8() != 0;
  note.user_us = reader.u64();
  note.system_us = reader.u64();
  note.max_rss_bytes = reader.u64();
  return note;
}

std::string encode_spec(const OsSpec& spec) {
  std::string out;
  ByteWriter writer(out);
  writer.u64(spec.limits.memory_bytes);
  writer.u64(spec.limits.cpu_seconds);
  writer.u64(spec.limits.open_files);
  writer.u64(spec.limits.file_bytes);
  writer.u64(spec.limits.processes);
  writer.u32(spec.umask);
  writer.u8(spec.no_new_privs ? 1 : 0);
  writer.u8(spec.user ? 1 : 0);
  if (spec.user) {
    writer.u32(spec.user->uid);
    writer.u32(spec.user->gid);
    writer.u32(static_cast<std::uint32_t>(spec.user->groups.size()));
    for (const gid_t each : spec.user->groups) writer.u32(each);
  }
  writer.blob(spec.directory);
  writer.u32(static_cast<std::uint32_t>(spec.argv.size()));
  for (const std::string& each : spec.argv) writer.blob(each);
  writer.u32(static_cast<std::uint32_t>(spec.environment.size()));
  for (const std::string& each : spec.environment) writer.blob(each);
  return out;
}

bool decode_spec(std::string_view body, OsSpec& spec) {
  ByteReader reader(body);
  spec.limits.memory_bytes = reader.u64();
  spec.limits.cpu_seconds = reader.u64();
  spec.limits.open_files = reader.u64();
  spec.limits.file_bytes = reader.u64();
  spec.limits.processes = reader.u64();
  spec.umask = reader.u32();
  spec.no_new_privs = reader.u8() != 0;
  if (reader.u8() != 0) {
    OsUser user;
    user.uid = reader.u32();
    user.gid = reader.u32();
    for (std::uint32_t n = reader.u32(); n > 0 && reader.ok(); --n) user.groups.push_back(reader.u32());
    spec.user = std::move(user);
  }
  spec.directory = reader.blob();
  for (std::uint32_t n = reader.u32(); n > 0 && reader.ok(); --n) spec.argv.emplace_back(reader.blob());
  for (std::uint32_t n = reader.u32(); n > 0 && reader.ok(); --n) spec.environment.emplace_back(reader.blob());
  return reader.done() && !spec.argv.empty();
}

}  // namespace skein::inline v0::launcher
