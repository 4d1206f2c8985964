#ifndef FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
#define FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// Those of a member's pax attributes that say where its data lies.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;  // bytes
  // It is stored without its holes.
  bool sparse = false;
};

// Reads the data of a pax header: records "LENGTH KEY=VALUE\n". The last of
// several with one key counts; an empty value stands for none. DATA_LOSS: they
// are malformed; says why, not where. Thread-safe; never blocks.
absl::StatusOr<PaxRecords> ParsePaxRecords(absl::Span<const std::uint8_t> data);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
