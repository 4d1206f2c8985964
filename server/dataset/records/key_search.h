#ifndef FOREBAY_SERVER_DATASET_RECORDS_KEY_SEARCH_H_
#define FOREBAY_SERVER_DATASET_RECORDS_KEY_SEARCH_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/record_index.h"

namespace forebay::dataset::records {

// Returns the numbers of the records with the keys `keys`, in the order of
// `keys`. Walks through all keys of the index once, since the index does not
// sort them. Counts the memory that it allocates in `memory`.
//
// Thread-safe; never blocks. Errors do not name the dataset. NOT_FOUND: there
// is a key that no record has. INVALID_ARGUMENT: there is a key that several
// records have. RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::StatusOr<std::vector<std::uint64_t>> FindKeys(
    const RecordIndex& index, absl::Span<const std::string_view> keys,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_KEY_SEARCH_H_
