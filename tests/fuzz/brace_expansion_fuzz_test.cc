// Fuzzes patterns of shards. A pattern is refused, or stands for at most the
// allowed number of names. A pattern without braces and escapes stands for
// itself.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/dataset/listing/brace_expansion.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::listing::ExpandBraces;
using forebay::fuzz::Require;

// Whether the pattern has a large number. Ranges of thousands take long to
// write, and find no faults that shorter ranges do not find.
bool IsLarge(std::string_view pattern) {
  std::size_t digits = 0;
  for (const char c : std::string(pattern) + '.') {
    if (c >= '0' && c <= '9') {
      ++digits;
      continue;
    }
    if (digits >= 4 && digits <= 7) return true;
    digits = 0;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view pattern(reinterpret_cast<const char*>(data), size);
  if (IsLarge(pattern)) return 0;
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "names");
  const auto names = ExpandBraces(pattern, memory);
  if (!names.ok()) {
    Require(absl::IsInvalidArgument(names.status()));
    return 0;
  }
  Require(!names->empty() && names->size() <= std::size_t{1} << 20);
  if (pattern.find_first_of("{}\\") == pattern.npos) {
    Require(names->size() == 1 && names->front() == pattern);
  }
  return 0;
}
