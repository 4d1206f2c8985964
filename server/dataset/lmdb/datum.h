#ifndef FOREBAY_SERVER_DATASET_LMDB_DATUM_H_
#define FOREBAY_SERVER_DATASET_LMDB_DATUM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/value_type.h"

// Datum is the protocol buffer of Caffe's LMDB files (caffe/proto/caffe.proto):
// an image or an array, and a label. Functions are thread-safe and never block.
// Their errors give the reason alone.

namespace forebay::dataset::lmdb {

// A Datum, which points into the bytes that it was parsed from.
struct Datum {
  absl::Span<const std::uint8_t> message;  // all bytes of the Datum
  std::int64_t channels = 0;
  std::int64_t height = 0;              // pixels
  std::int64_t width = 0;               // pixels
  absl::Span<const std::uint8_t> data;  // uint8 elements, or an image file
  std::int64_t label = 0;
  std::uint64_t float_count = 0;  // elements in the field float_data
  bool is_encoded = false;        // whether `data` is an image file
  bool has_others = false;        // whether the message has unknown fields
};

// Parses a Datum. Fails with DATA_LOSS if the bytes are not a well-formed
// Datum.
absl::StatusOr<Datum> ParseDatum(absl::Span<const std::uint8_t> bytes);

// Returns the type of a Datum's content: an image, or an array of uint8 or
// float32 of the shape [channels, height, width]. Returns nothing if the number
// of elements contradicts the shape.
std::optional<records::ValueType> TypeOf(const Datum& datum);

// Describes a Datum's content in words, for errors.
std::string DescriptionOf(const Datum& datum);

// Returns the type of the values' content, if all values are surely Datums of
// one type. Returns nothing if they are not, or if there are no values.
std::optional<records::ValueType> GuessDatumType(
    absl::Span<const absl::Span<const std::uint8_t>> values);

// Returns the content of a Datum of `type`. The content points into `record`,
// which holds the Datum's bytes, or into memory that `buffers` keeps. Fails
// with INVALID_ARGUMENT if the Datum is of another type.
absl::StatusOr<FieldValue> ContentOf(const Datum& datum,
                                     const records::ValueType& type,
                                     absl::Span<const std::uint8_t> record,
                                     ValueBuffers* buffers);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_DATUM_H_
