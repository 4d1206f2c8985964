#ifndef FOREBAY_SERVER_DATASET_COMPOSED_KEY_LIST_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_KEY_LIST_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/sealed_memory.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::composed {

// Returns the numbers of the samples with the keys of a list, as IndexList
// wants them. `list` holds `count` lengths as little-endian 32-bit numbers,
// then the keys one behind the other.
//
// Thread-safe; never blocks. INVALID_ARGUMENT: it is no such list, or the
// dataset's samples have no keys; RESOURCE_EXHAUSTED: the budget has no room;
// others, naming the dataset: those of FindKeys.
absl::StatusOr<std::shared_ptr<const base::SealedMemory>> NumbersOfKeys(
    const Dataset& whole, const base::SealedMemory& list, std::uint64_t count,
    base::MemoryBudget* budget);

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_KEY_LIST_H_
