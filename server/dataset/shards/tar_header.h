#ifndef FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::shards {

// The size of a header, in bytes. Data is padded to a multiple of this size.
inline constexpr std::uint64_t kTarBlock = 512;  // bytes

// The kinds of members that TarWalk tells apart.
enum class TarKind {
  kFile,
  // A hard or symbolic link. Links are not parts of samples.
  kLink,
  // Directories, devices and the like. They are not parts of samples.
  kOther,
  kSparseFile,  // GNU's format of files with holes
  // The data of these kinds describes the next member: GNU's long names, and
  // pax extended headers.
  kLongName,
  kLongLink,
  kAttributes,
  // The data of this kind, a pax global header, describes all later members.
  kGlobalAttributes,
};

// The content of a header block that TarWalk needs.
struct TarHeader {
  TarKind kind = TarKind::kOther;
  // The name in the header; an earlier extended header may override it.
  std::string name;
  // The number of bytes of data behind the header, without padding.
  std::uint64_t data_bytes = 0;
  // Whether members of this type have data. If not, extended headers do not
  // override data_bytes.
  bool has_data = false;
};

// Parses one header block of the old (v7), ustar, GNU or pax format; `block`
// has kTarBlock bytes. Returns nothing for a block of zeros, which ends an
// archive. DATA_LOSS: the block is not a header; the error does not name the
// archive. Thread-safe; never blocks.
absl::StatusOr<std::optional<TarHeader>> ParseTarHeader(
    absl::Span<const std::uint8_t> block);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_TAR_HEADER_H_
