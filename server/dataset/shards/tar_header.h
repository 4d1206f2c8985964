#ifndef FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// Headers are one block long; data is padded to whole blocks.
inline constexpr std::uint64_t kTarBlock = 512;  // bytes

enum class TarKind {
  kFile,
  // A directory, link, device or what else is not a sample's.
  kOther,
  kSparseFile,
  // These speak of the member that follows; their data says what.
  kLongName,
  kLongLink,
  kAttributes,
  // Of all members that follow.
  kGlobalAttributes,
};

struct TarHeader {
  TarKind kind = TarKind::kOther;
  // As the header has it; what precedes the header may overrule it.
  std::string name;
  // Of the data that follows, without padding.
  std::uint64_t data_bytes = 0;
  // Whether attributes may overrule data_bytes: not where no data follows,
  // whatever the header says.
  bool has_data = false;
};

// Reads one header: of the old (v7), ustar, GNU or pax format. Nothing: the
// block is the mark that ends an archive. DATA_LOSS: `block`, of kTarBlock
// bytes, is no header; says why, not where. Thread-safe; never blocks.
absl::StatusOr<std::optional<TarHeader>> ParseTarHeader(
    absl::Span<const std::uint8_t> block);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
