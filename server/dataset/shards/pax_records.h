#ifndef FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
#define FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// The pax attributes of a member that say where its data lies.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;  // bytes
  // Whether the file is stored without its holes.
  bool sparse = false;
};

// Reads the data of a pax header: records "LENGTH KEY=VALUE\n". The last record
// of a key counts; an empty value unsets it. DATA_LOSS: a record is malformed;
// says why, not where. Thread-safe; never blocks.
absl::StatusOr<PaxRecords> ParsePaxRecords(absl::Span<const std::uint8_t> data);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
