#include "skein/runtime/exit_reason.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

namespace skein::inline v0 {

struct ExitReason::Detail {
  std::atomic<std::uint32_t> holders{1};
  std::string term;
  std::string type;
  std::string where;
  ExitReason cause;
  bool has_cause = false;
};

namespace {

const std::string k_empty;

std::string readable_name(const std::type_info* type) {
  if (type == nullptr) return "unknown exception";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? std::string(name.get()) : std::string(type->name());
}

}  // namespace

ExitReason::Detail* ExitReason::hold(Detail* detail) {
  if (detail != nullptr) detail->holders.fetch_add(1, std::memory_order_relaxed);
  return detail;
}

void ExitReason::drop(Detail* detail) noexcept {
  if (detail->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete detail;
}

ExitReason ExitReason::shutdown(std::string term) {
  auto detail = std::make_unique<Detail>();
  detail->term = std::move(term);
  return {ExitKind::shutdown, detail.release()};
}

ExitReason ExitReason::shutdown(std::string term, ExitReason cause) {
  ExitReason reason = shutdown(std::move(term));
  reason.detail_->cause = std::move(cause);
  reason.detail_->has_cause = true;
  return reason;
}

ExitReason ExitReason::custom(std::string term) {
  auto detail = std::make_unique<Detail>();
  detail->term = std::move(term);
  return {ExitKind::custom, detail.release()};
}

ExitReason ExitReason::custom(std::string term, ExitReason cause) {
  ExitReason reason = custom(std::move(term));
  reason.detail_->cause = std::move(cause);
  reason.detail_->has_cause = true;
  return reason;
}

ExitReason ExitReason::crash(std::string type, std::string what, std::string where) {
  auto detail = std::make_unique<Detail>();
  detail->term = std::move(what);
  detail->type = std::move(type);
  detail->where = std::move(where);
  return {ExitKind::crash, detail.release()};
}

ExitReason ExitReason::crash_of_current_exception(std::string where) {
  std::string type = readable_name(abi::__cxa_current_exception_type());
  try {
    throw;
  } catch (const std::exception& error) {
    return crash(std::move(type), error.what(), std::move(where));
  } catch (...) {
    return crash(std::move(type), "", std::move(where));
  }
}

const std::string& ExitReason::term() const { return detail_ == nullptr ? k_empty : detail_->term; }
const std::string& ExitReason::crash_type() const { return detail_ == nullptr ? k_empty : detail_->type; }
const std::string& ExitReason::crash_where() const { return detail_ == nullptr ? k_empty : detail_->where; }
const ExitReason* ExitReason::cause() const {
  return detail_ == nullptr || !detail_->has_cause ? nullptr : &detail_->cause;
}

std::string ExitReason::text() const {
  switch (kind_) {
    case ExitKind::normal:
      return "normal";
    case ExitKind::shutdown:
      return has_term() ? "shutdown(" + term() + ")" : "shutdown";
    case ExitKind::kill:
      return "kill";
    case ExitKind::killed:
      return "killed";
    case ExitKind::noproc:
      return "noproc";
    case ExitKind::crash:
      return "crash(" + crash_type() + (term().empty() ? "" : ": " + term()) +
             (crash_where().empty() ? "" : ", in " + crash_where()) + ")";
    case ExitKind::custom:
      return term();
  }
  return "unknown";
}

}  // namespace skein::inline v0
