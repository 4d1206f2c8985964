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

// A file of tokens and, if it has one, its Megatron-LM index.
struct TokenFile {
  storage::ListedObject data;
  // Megatron-LM's index of `data`; unset if there is none.
  std::optional<storage::ListedObject> index;
};

// Lists the files that match patterns.
using ListPatterns =
    std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
        const std::vector<std::string>& patterns)>;

// Lists files of tokens. If `indexed` is true, each file whose name ends in
// ".bin" must have an index beside it, and all other files must be .npy files.
// `memory` counts the result, but not the results of `list`. Blocks as `list`
// does. Errors are those of `list`. NOT_FOUND: an index is missing.
// INVALID_ARGUMENT: a name has another ending. RESOURCE_EXHAUSTED: `memory` has
// no room.
absl::StatusOr<std::vector<TokenFile>> ListTokenFiles(
    const std::vector<std::string>& patterns, bool indexed,
    const ListPatterns& list, base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_FILES_H_
