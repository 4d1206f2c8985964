#ifndef FOREBAY_SERVER_DATASET_SHARDS_BRACE_EXPANSION_H_
#define FOREBAY_SERVER_DATASET_SHARDS_BRACE_EXPANSION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::shards {

// All that a pattern such as "train-{00000..00127}.tar" or "{a,b{1..3}}.tar"
// stands for, in order; the rules are those of Python's braceexpand, which
// webdataset uses. A backslash takes the next character's meaning.
// INVALID_ARGUMENT, naming the pattern: braces are not balanced or nested too
// deeply, or there are too many results; RESOURCE_EXHAUSTED: that of `memory`,
// in which the results, and what is made on the way, are counted and stay so.
// Thread-safe; never blocks.
absl::StatusOr<std::vector<std::string>> ExpandBraces(
    std::string_view pattern, base::WorkingMemory& memory);

// All that several patterns stand for, one behind the other; together no more
// than one alone may.
absl::StatusOr<std::vector<std::string>> ExpandBraces(
    const std::vector<std::string>& patterns, base::WorkingMemory& memory);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_BRACE_EXPANSION_H_
