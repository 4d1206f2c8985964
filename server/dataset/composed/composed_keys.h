#ifndef FOREBAY_SERVER_DATASET_COMPOSED_COMPOSED_KEYS_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_COMPOSED_KEYS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/sealed_memory.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::composed {

// Returns the numbers of the samples of `whole` that have the keys in `list`,
// in the form that IndexList takes. `list` begins with the lengths of `count`
// keys in bytes, as little-endian 32-bit numbers. The keys follow,
// concatenated.
//
// Thread-safe; never blocks. INVALID_ARGUMENT: `list` is malformed, or the
// dataset's samples have no keys. RESOURCE_EXHAUSTED: the budget has no room.
// Others: those of FindKeys, which name the dataset here.
absl::StatusOr<std::shared_ptr<const base::SealedMemory>> NumbersOfKeys(
    const Dataset& whole, const base::SealedMemory& list, std::uint64_t count,
    base::MemoryBudget* budget);

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_COMPOSED_KEYS_H_
