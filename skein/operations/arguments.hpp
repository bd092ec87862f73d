// The arguments of a request, checked against the parameters that its operation declares. Pure; any thread.
//
// 1. After read_arguments() every value has its type and is in its range; what is not given reads as its default, and
//    null is as if it was not given.
// 2. It refers to the JSON object that it was made of, which must live as long.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skein/ledger/command.hpp"
#include "skein/operations/error.hpp"
#include "skein/operations/param.hpp"

namespace skein::inline v0::operations {

namespace json = boost::json;

// Asking for a parameter that is not declared throws std::logic_error: a mistake in the handler, which its test meets.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view name) const;
  // The given value, else the default, else empty or zero.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::uint64_t count(std::string_view name) const;  // also a time, in milliseconds since 1970
  [[nodiscard]] std::chrono::milliseconds milliseconds(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] ledger::TaskId task_id(std::string_view name) const;
  [[nodiscard]] std::vector<ledger::TaskId> task_ids(std::string_view name) const;
  [[nodiscard]] ledger::Fields fields(std::string_view name) const;
  // What was given, under the names of the parameters, whatever older names it came by.
  [[nodiscard]] json::object as_given() const;

 private:
  friend Result<Arguments> read_arguments(const std::vector<Param>& params, const json::object& given);
  explicit Arguments(const std::vector<Param>& params) : params_(&params), given_(params.size()) {}

  [[nodiscard]] std::size_t index_of(std::string_view name) const;

  const std::vector<Param>* params_;
  std::vector<const json::value*> given_;  // by the number of the parameter; null: not given
};

// The error names the first member that is wrong and says what it should be.
[[nodiscard]] Result<Arguments> read_arguments(const std::vector<Param>& params, const json::object& given);

// "unknown member 'x'", with what was probably meant among the names of these parameters.
[[nodiscard]] Error unknown_member(std::string_view name, const std::vector<Param>& params);

}  // namespace skein::inline v0::operations
