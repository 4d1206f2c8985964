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
// (streaming/base/format/mds/writer.py, encodings.py). All of a shard is a
// stranger's. Functions are thread-safe and never block; their errors give the
// reason alone.

namespace forebay::dataset::mds {

// The array that an encoding "ndarray" has. Its header says what the encoding
// does not.
struct ArrayEncoding {
  std::optional<proto::DType> dtype;
  std::optional<std::vector<std::uint64_t>> shape;

  bool operator==(const ArrayEncoding&) const = default;
};

struct Column {
  std::string name;
  std::string encoding;    // as the writer says it
  std::uint32_t size = 0;  // bytes; 0: it stands before each sample's values
  proto::FieldKind kind = proto::FieldKind::kBytes;
  std::optional<ArrayEncoding> array;  // of kArray
  // Whether an integer is written in digits, instead of as a number.
  bool in_digits = false;

  bool operator==(const Column&) const = default;
};

// Whether a column may be a field of that kind: its own, or what files its
// bytes may be.
bool MayBe(const Column& column, proto::FieldKind kind);

// Reads a shard's configuration, which is JSON, with its columns in their
// order. DATA_LOSS: it is none. UNIMPLEMENTED: it is of another version, or
// compressed. An unknown encoding is of kind kSampleId: such a column is passed
// over.
absl::StatusOr<std::vector<Column>> ParseColumns(std::string_view json);

// Finds each column's bytes within a sample. DATA_LOSS: the sample is shorter
// or longer than they are.
absl::Status SplitSample(absl::Span<const Column> columns,
                         absl::Span<const std::uint8_t> sample,
                         absl::Span<FieldRange> parts);

// An array in a sample, without its header.
struct ArrayPart {
  ArrayType type;
  absl::Span<const std::uint8_t> elements;
};

// Reads an array's header. DATA_LOSS: it is malformed, or the elements are not
// as many as it says.
absl::StatusOr<ArrayPart> ReadArrayPart(const ArrayEncoding& encoding,
                                        absl::Span<const std::uint8_t> part);

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_COLUMNS_H_
