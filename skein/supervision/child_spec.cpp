#include "skein/supervision/child_spec.hpp"

#include <fmt/format.h>

namespace skein::inline v0 {

Shutdown ChildSpec::effective_shutdown() const {
  if (shutdown) return *shutdown;
  return type == ChildType::supervisor ? Shutdown::infinity() : Shutdown::after(k_worker_shutdown);
}

ChildSpec ChildSpec::with(Restart value) && {
  restart = value;
  return std::move(*this);
}
ChildSpec ChildSpec::with(Shutdown value) && {
  shutdown = value;
  return std::move(*this);
}
ChildSpec ChildSpec::with(Backoff value) && {
  backoff = value;
  return std::move(*this);
}
ChildSpec ChildSpec::with(Budget value) && {
  budget = value;
  return std::move(*this);
}
ChildSpec ChildSpec::as_significant() && {
  significant = true;
  return std::move(*this);
}
ChildSpec ChildSpec::as_isolated() && {
  isolated = true;
  return std::move(*this);
}
ChildSpec ChildSpec::labelled(std::string value) && {
  label = std::move(value);
  return std::move(*this);
}

namespace {

SpecError error_of(const ChildSpec& spec, std::string field, std::string_view what) {
  return SpecError{std::move(field), fmt::format("child '{}': {}", spec.id, what)};
}

}  // namespace

std::optional<SpecError> check_spec(const ChildSpec& spec) {
  if (spec.id.empty()) return SpecError{"id", "a child has no id: give each a name of its own"};
  if (!spec.start) return error_of(spec, "start", "has no start function: use child<T>(\"id\", args...)");
  // The enums may come from a cast of something read elsewhere.
  if (spec.restart > Restart::temporary) {
    return error_of(spec, "restart", "restart must be permanent, transient or temporary");
  }
  if (spec.type > ChildType::supervisor) return error_of(spec, "type", "type must be worker or supervisor");
  if (spec.shutdown && spec.shutdown->kind() == Shutdown::Kind::timeout &&
      spec.shutdown->timeout() < Duration::zero()) {
    return error_of(spec, "shutdown", "shutdown must be brutal_kill, infinity or a time that is not negative");
  }
  if (spec.significant && spec.restart == Restart::permanent) {
    return error_of(spec, "significant", "a permanent child can't be significant: it never ends for good");
  }
  if (const auto fault = spec.backoff.fault()) return error_of(spec, "backoff", *fault);
  if (spec.budget) {
    if (spec.budget->intensity > k_intensity_max) {
      return error_of(spec, "budget", fmt::format("budget.intensity must be at most {}", k_intensity_max));
    }
    if (spec.budget->period <= Duration::zero()) return error_of(spec, "budget", "budget.period must be more than 0");
    if (spec.budget->park <= Duration::zero() || spec.budget->park > k_park_max) {
      return error_of(spec, "budget", "budget.park must be more than 0 and at most 10 minutes");
    }
  }
  return std::nullopt;
}

std::string_view restart_name(Restart restart) {
  switch (restart) {
    case Restart::permanent:
      return "permanent";
    case Restart::transient:
      return "transient";
    case Restart::temporary:
      return "temporary";
  }
  return "invalid";
}

std::string_view type_name_of(ChildType type) { return type == ChildType::supervisor ? "supervisor" : "worker"; }

std::string shutdown_text(const Shutdown& shutdown) {
  switch (shutdown.kind()) {
    case Shutdown::Kind::brutal_kill:
      return "brutal_kill";
    case Shutdown::Kind::infinity:
      return "infinity";
    case Shutdown::Kind::timeout:
      break;
  }
  return fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(shutdown.timeout()).count());
}

}  // namespace skein::inline v0
