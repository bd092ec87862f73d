#include "cli/node_link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace skein::cli {
namespace {

constexpr std::size_t k_link_read_bytes = 64ULL << 10U;
constexpr std::size_t k_link_line_max = 64ULL << 20U;  // an answer of a node has a few megabytes at most

class LineLink final : public NodeLink {
 public:
  explicit LineLink(Fd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const override { return socket_.get(); }
  void put(std::string_view message) override {
    out_ += message;
    out_ += '\n';
  }
  [[nodiscard]] bool read_some(std::vector<std::string>& messages) override {
    std::array<char, k_link_read_bytes> bytes{};
    const auto got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    const std::size_t seen = in_.size();
    in_.append(bytes.data(), static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (std::size_t end = in_.find('\n', seen); end != std::string::npos; end = in_.find('\n', from)) {
      messages.push_back(in_.substr(from, end - from));
      from = end + 1;
    }
    in_.erase(0, from);
    return in_.size() <= k_link_line_max;
  }
  void finish() override { ::shutdown(socket_.get(), SHUT_WR); }
  [[nodiscard]] bool answers_after_finish() const override { return true; }

 private:
  Fd socket_;
  std::string in_;
};

}  // namespace

bool NodeLink::write_some() {
  while (unsent() > 0) {
    const auto sent = ::send(fd(), out_.data() + out_at_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    out_at_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  out_at_ = 0;
  return true;
}

std::unique_ptr<NodeLink> make_line_link(Fd socket) { return std::make_unique<LineLink>(std::move(socket)); }

}  // namespace skein::cli
