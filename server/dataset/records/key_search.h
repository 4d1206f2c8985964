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

// Returns the numbers of the records with these keys, in their order. Looks at
// all keys of the index once, in any order in which they are. Counts in
// `memory` what it makes.
//
// Thread-safe; never blocks. Errors give the reason alone: NOT_FOUND: no record
// has a key; INVALID_ARGUMENT: several have it; RESOURCE_EXHAUSTED: that of
// `memory`.
absl::StatusOr<std::vector<std::uint64_t>> FindKeys(
    const RecordIndex& index, absl::Span<const std::string_view> keys,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_KEY_SEARCH_H_
