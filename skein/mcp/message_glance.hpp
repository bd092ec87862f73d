// What a JSON-RPC message is, without parsing it: its id, its method, whether it is an answer. For texts that cannot be
// parsed, so that the error still names the request, and for messages that are only handed on. Pure; one thread.
//
// 1. It takes bytes in pieces of any size and keeps at most 2 KiB of them, however long the message is.
// 2. Only members of the outermost object count. Nothing is said of a member that stands there twice.
// 3. It never fails: of a text that is no JSON it tells what could be read before the fault.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace skein::inline v0::mcp {

class MessageGlance {
 public:
  MessageGlance() = default;
  explicit MessageGlance(std::string_view whole) { feed(whole); }

  void feed(std::string_view bytes);
  // Begins with the next message.
  void reset() { *this = MessageGlance(); }

  // A string or a whole number, as an id is; null when none was seen.
  [[nodiscard]] const boost::json::value& id() const { return id_; }
  // Empty when none was seen.
  [[nodiscard]] const std::string& method() const { return method_; }
  // It has a result or an error.
  [[nodiscard]] bool is_answer() const { return has_result_ || has_error_; }
  [[nodiscard]] bool has_error() const { return has_error_; }
  // The id with which a text that is no message is answered: null for what may be an answer itself.
  [[nodiscard]] boost::json::value id_to_answer() const { return is_answer() ? boost::json::value() : id_; }

 private:
  enum class Member : std::uint8_t { other, id, method, result, error };

  [[nodiscard]] bool is_recorded() const;
  [[nodiscard]] std::size_t skipped(std::string_view bytes) const;
  void take(char each);
  void record(char each);
  void end_key();
  void end_member();

  std::size_t depth_ = 0;
  bool is_object_ = false;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool is_key_ = false;     // what is recorded is the name of a member
  bool is_plain_ = true;    // the value is no object, no array and not too long
  std::string recorded_{};  // of a key or a value that matters
  Member member_ = Member::other;
  boost::json::value id_{};
  std::string method_{};
  bool has_id_ = false;
  bool has_method_ = false;
  bool has_result_ = false;
  bool has_error_ = false;
};

}  // namespace skein::inline v0::mcp
