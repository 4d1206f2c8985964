#ifndef FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_
#define FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/compressed/file_points.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Builds the index of `files`, in this order. `records` has the records of each
// file. `format` is the text of their RecordFormat. `points` has the access
// points of compressed files; null if no file is compressed. The index gets its
// own reservation from `memory`. Thread-safe; never blocks. RESOURCE_EXHAUSTED:
// `memory` cannot grow.
absl::StatusOr<std::shared_ptr<const RecordIndex>> BuildRecordIndex(
    std::string format, absl::Span<const storage::ListedObject> files,
    std::vector<FileRecords> records, base::WorkingMemory& memory,
    std::shared_ptr<const storage::compressed::FilePoints> points = nullptr);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_BUILD_RECORD_INDEX_H_
