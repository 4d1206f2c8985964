#ifndef FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
#define FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// The attributes of a pax extended header that TarWalk uses.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;  // bytes
  // Whether the file is stored without its holes, as GNU tar stores sparse
  // files (GNU.sparse.*).
  bool sparse = false;
};

// Parses the data of a pax header: records "LENGTH KEY=VALUE\n" (POSIX.1-2017,
// pax, "pax Extended Header"). If several records have the same key, the last
// of them counts. An empty value unsets the key. DATA_LOSS: a record is
// malformed; the error does not say where. Thread-safe; never blocks.
absl::StatusOr<PaxRecords> ParsePaxRecords(absl::Span<const std::uint8_t> data);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_PAX_RECORDS_H_
