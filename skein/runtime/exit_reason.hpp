// Why a process ended. A small value that is cheap to copy: what it carries is shared and never changes.
//
// Any thread may copy and read reasons. `kill` is what one sends; `killed` is what those linked to the victim see.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace skein::inline v0 {

enum class ExitKind : std::uint8_t { normal, shutdown, kill, killed, noproc, crash, custom };

class ExitReason {
 public:
  // Ended normally.
  ExitReason() = default;
  ExitReason(const ExitReason& other) : kind_(other.kind_), detail_(hold(other.detail_)) {}
  ExitReason(ExitReason&& other) noexcept
      : kind_(std::exchange(other.kind_, ExitKind::normal)), detail_(std::exchange(other.detail_, nullptr)) {}
  ExitReason& operator=(const ExitReason& other) {
    ExitReason copy(other);
    swap(copy);
    return *this;
  }
  ExitReason& operator=(ExitReason&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ExitReason() {
    if (detail_ != nullptr) drop(detail_);
  }

  static ExitReason normal() { return {}; }
  static ExitReason shutdown() { return ExitReason(ExitKind::shutdown); }
  static ExitReason shutdown(std::string term);
  // As above, with the reason behind it (why a child failed to start, say).
  static ExitReason shutdown(std::string term, ExitReason cause);
  static ExitReason kill() { return ExitReason(ExitKind::kill); }
  static ExitReason killed() { return ExitReason(ExitKind::killed); }
  static ExitReason noproc() { return ExitReason(ExitKind::noproc); }
  static ExitReason custom(std::string term);
  static ExitReason custom(std::string term, ExitReason cause);
  // An exception of `type` saying `what` left the handler `where`.
  static ExitReason crash(std::string type, std::string what, std::string where);
  // The crash that the exception being handled amounts to; call inside a catch block.
  static ExitReason crash_of_current_exception(std::string where);

  [[nodiscard]] ExitKind kind() const { return kind_; }
  [[nodiscard]] bool is_normal() const { return kind_ == ExitKind::normal; }
  // shutdown, with or without a term.
  [[nodiscard]] bool is_shutdown() const { return kind_ == ExitKind::shutdown; }
  [[nodiscard]] bool has_term() const { return detail_ != nullptr; }
  // What shutdown(term) and custom(term) carry, or a crash's message; empty for the others.
  [[nodiscard]] const std::string& term() const;
  [[nodiscard]] const std::string& crash_type() const;
  [[nodiscard]] const std::string& crash_where() const;
  // The reason behind this one, or nullptr.
  [[nodiscard]] const ExitReason* cause() const;

  // One line for people: "shutdown(term)", "crash(std::runtime_error: no such file, in Worker: Job)".
  [[nodiscard]] std::string text() const;

  // Equal kinds and terms.
  friend bool operator==(const ExitReason& left, const ExitReason& right) {
    return left.kind_ == right.kind_ && left.has_term() == right.has_term() && left.term() == right.term();
  }

 private:
  struct Detail;

  explicit ExitReason(ExitKind kind) : kind_(kind) {}
  ExitReason(ExitKind kind, Detail* detail) : kind_(kind), detail_(detail) {}
  void swap(ExitReason& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(detail_, other.detail_);
  }
  static Detail* hold(Detail* detail);
  static void drop(Detail* detail) noexcept;

  ExitKind kind_ = ExitKind::normal;
  Detail* detail_ = nullptr;
};

}  // namespace skein::inline v0
