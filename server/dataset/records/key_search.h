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
// `keys`. Walks through all keys of the index once, since they are not sorted.
// Counts the memory that it allocates in `memory`.
//
// Thread-safe; never blocks. Errors give the reason alone: NOT_FOUND: no record
// has one of the keys; INVALID_ARGUMENT: several records have the same wanted
// key; RESOURCE_EXHAUSTED: the error of `memory`.
absl::StatusOr<std::vector<std::uint64_t>> FindKeys(
    const RecordIndex& index, absl::Span<const std::string_view> keys,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_KEY_SEARCH_H_
