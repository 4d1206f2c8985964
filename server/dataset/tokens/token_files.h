#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_FILES_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_FILES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tokens {

// A file of tokens.
struct TokenFile {
  storage::ListedObject data;
  // Megatron-LM's index of it. Null if there is none.
  std::optional<storage::ListedObject> index;
};

// Lists the files of patterns.
using ListPatterns =
    std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
        const std::vector<std::string>& patterns)>;

// Lists files of tokens. If `indexed`, those whose names end in ".bin" have an
// index beside them. Counts in `memory` what it makes besides the lists. Blocks
// as `list` does. Errors: those of `list`; NOT_FOUND: an index lacks;
// INVALID_ARGUMENT: names end in something else; RESOURCE_EXHAUSTED: that of
// `memory`.
absl::StatusOr<std::vector<TokenFile>> ListTokenFiles(
    const std::vector<std::string>& patterns, bool indexed,
    const ListPatterns& list, base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_FILES_H_
