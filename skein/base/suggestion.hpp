// Suggests the known word that an unknown word was probably meant to be: the end of an error message. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0 {

// " (did you mean 'executor'?)", or " (known: a, b)", or nothing when there is nothing to suggest.
[[nodiscard]] std::string suggestion(std::string_view given, const std::vector<std::string_view>& known);

}  // namespace skein::inline v0
