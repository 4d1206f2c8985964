#ifndef FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// A header is one block long; data is padded to whole blocks.
inline constexpr std::uint64_t kTarBlock = 512;  // bytes

enum class TarKind {
  kFile,
  // A hard or symbolic link, which no sample has.
  kLink,
  // A directory, device or the like, which no sample has.
  kOther,
  kSparseFile,
  // Their data describes the member that follows.
  kLongName,
  kLongLink,
  kAttributes,
  // Its data describes all members that follow.
  kGlobalAttributes,
};

struct TarHeader {
  TarKind kind = TarKind::kOther;
  // From the header; an earlier header may overrule it.
  std::string name;
  // Bytes of the data that follows, without padding.
  std::uint64_t data_bytes = 0;
  // Whether data follows, whatever size the header says. If not, attributes do
  // not overrule data_bytes.
  bool has_data = false;
};

// Reads one header of the old (v7), ustar, GNU or pax format. Returns nothing
// if the block is the mark that ends an archive. DATA_LOSS: `block`, of
// kTarBlock bytes, is no header; says why, not where. Thread-safe; never
// blocks.
absl::StatusOr<std::optional<TarHeader>> ParseTarHeader(
    absl::Span<const std::uint8_t> block);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
