#ifndef FOREBAY_SERVER_DATASET_LISTING_BRACE_EXPANSION_H_
#define FOREBAY_SERVER_DATASET_LISTING_BRACE_EXPANSION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::listing {

// Expands a pattern such as "train-{00000..00127}.tar" or "{a,b{1..3}}.tar"
// into all names that it stands for, in order. The rules are those of Python's
// braceexpand, which webdataset uses. A backslash escapes the next character.
// Thread-safe; never blocks.
//
// Counts the results and all intermediate results in `memory`, and leaves them
// counted there. INVALID_ARGUMENT, naming the pattern: the braces are not
// balanced, they are nested too deeply, or there are too many results.
// RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::StatusOr<std::vector<std::string>> ExpandBraces(
    std::string_view pattern, base::WorkingMemory& memory);

// Expands several patterns, one after another. The limit on the number of
// results applies to the results of all patterns together.
absl::StatusOr<std::vector<std::string>> ExpandBraces(
    const std::vector<std::string>& patterns, base::WorkingMemory& memory);

// Whether the text contains '*', '?' or '['.
bool HasWildcard(std::string_view text);

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_BRACE_EXPANSION_H_
