// The ledger's bytes: any command is answered or is from a newer program; what is read is written the same; any
// snapshot that is taken is a state on which commands work, and is written the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "skein/ledger/invariants.hpp"
#include "skein/ledger/ledger.hpp"

namespace {

using namespace skein::ledger;

void check_command(Ledger& ledger, std::string_view bytes) {
  try {
    if (!decode_results(ledger.apply(1, bytes))) std::abort();
    const auto ops = decode_command(bytes);
    if (!ops) return;
    CommandBuilder again;
    for (const auto& op : *ops) {
      if (!op) return;
      again.add(*op);
    }
    if (again.take() != bytes) std::abort();
  } catch (const UnknownEntry&) {
    return;
  }
}

void check_invariants(Ledger& ledger) {
  if (broken_invariant(*ledger.freeze())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Ledger ledger;
  check_command(ledger, bytes);
  check_invariants(ledger);
  (void)decode_results(bytes);

  Ledger restored;
  if (!restored.restore(bytes)) return 0;
  skein::journal::StringSink sink;
  restored.freeze()->write(sink);
  if (sink.text != bytes) std::abort();
  check_invariants(restored);
  std::vector<Op> ops;
  for (const auto& task : restored.freeze()->open_tasks()) {
    ops.emplace_back(Complete{task.id, task.fence, 1, nullptr});
    ops.emplace_back(Cancel{task.id, 1, ""});
  }
  ops.emplace_back(Archived{~0ULL});
  (void)restored.apply(1, encode_command(ops));
  check_invariants(restored);
  if (restored.counters().open_tasks != 0) std::abort();
  return 0;
}
