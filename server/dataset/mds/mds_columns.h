#ifndef FOREBAY_SERVER_DATASET_MDS_MDS_COLUMNS_H_
#define FOREBAY_SERVER_DATASET_MDS_MDS_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/dataset/dataset.h"

// The columns of MDS shards, as MosaicML's streaming writes them
// (streaming/base/format/mds/writer.py and encodings.py). Shards are untrusted.
// Functions are thread-safe and never block. Their errors give the reason
// alone.

namespace forebay::dataset::mds {

// The type and shape of the arrays in a column with the encoding "ndarray". If
// either is unset, each array's header tells it.
struct ArrayEncoding {
  std::optional<proto::DType> dtype;
  std::optional<std::vector<std::uint64_t>> shape;

  bool operator==(const ArrayEncoding&) const = default;
};

// A column of a shard, as its configuration describes it.
struct MdsColumn {
  std::string name;
  std::string encoding;  // as the configuration has it, such as "jpeg:90"
  // Bytes of each value. 0: values vary in size, and each sample states the
  // size of its value.
  std::uint32_t size = 0;
  // Kind of the field that the column becomes, unless the user asks for another
  // kind. kSampleId means that the encoding is unknown.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  std::optional<ArrayEncoding> array;  // set if the kind is kArray
  // Whether integers are stored as texts of digits, and not in eight bytes.
  bool in_digits = false;

  bool operator==(const MdsColumn&) const = default;
};

// Whether a column may be a field of the kind `kind`. A column may be a field
// of its own kind. A column of bytes may also be a field of images, audio
// files, texts, JSON or .npy files. A column of images may also be a field of
// bytes.
bool MayBe(const MdsColumn& column, proto::FieldKind kind);

// Parses a shard's configuration, which is JSON. Returns the columns in their
// order. A column of an unknown encoding has the kind kSampleId and cannot be a
// field. DATA_LOSS: `json` is not a configuration. UNIMPLEMENTED: the shard has
// another version.
absl::StatusOr<std::vector<MdsColumn>> ParseColumns(std::string_view json);

// Writes to `parts` the range of each column's value in `sample`. DATA_LOSS:
// the values do not fill the sample exactly.
absl::Status SplitSample(absl::Span<const MdsColumn> columns,
                         absl::Span<const std::uint8_t> sample,
                         absl::Span<FieldRange> parts);

// An array in a sample: its type, and its elements, which follow its header.
struct ArrayPart {
  ArrayType type;
  absl::Span<const std::uint8_t> elements;
};

// Reads the header of an array. DATA_LOSS: the header is malformed, or the
// number of elements does not match the shape.
absl::StatusOr<ArrayPart> ReadArrayPart(const ArrayEncoding& encoding,
                                        absl::Span<const std::uint8_t> part);

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_COLUMNS_H_
