#ifndef FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_
#define FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/inflated/file_points.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Makes the index of `files`, each with its records, in this order. `points`
// has those that are compressed; null if none is. The index keeps its part of
// `memory`. RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const RecordIndex>> BuildRecordIndex(
    std::string format, absl::Span<const storage::ListedObject> files,
    std::vector<FileRecords> records, base::WorkingMemory& memory,
    std::shared_ptr<const storage::inflated::FilePoints> points = nullptr);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_
