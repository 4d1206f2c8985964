#ifndef FOREBAY_SERVER_DATASET_LMDB_DATUM_H_
#define FOREBAY_SERVER_DATASET_LMDB_DATUM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/value_type.h"

// Caffe's Datum, a protocol buffer (caffe/proto/caffe.proto): an image or an
// array, and a label. Functions are thread-safe and never block; their errors
// give the reason alone.

namespace forebay::dataset::lmdb {

// Points into the bytes that it was read from.
struct Datum {
  absl::Span<const std::uint8_t> message;  // all of them
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  absl::Span<const std::uint8_t> data;
  std::int64_t label = 0;
  std::uint64_t float_count = 0;  // numbers of type float32
  bool is_encoded = false;        // whether `data` is an image file
  bool has_others = false;        // whether it has fields that no Datum has
};

// DATA_LOSS: it is no such message.
absl::StatusOr<Datum> ParseDatum(absl::Span<const std::uint8_t> bytes);

// Returns the type of what it holds beside the label: an image, or an array of
// uint8 or float32 with the shape [channels, height, width]. Nothing if it
// contradicts itself.
std::optional<records::ValueType> TypeOf(const Datum& datum);

// Says what it holds, for people.
std::string DescriptionOf(const Datum& datum);

// Returns that type if all of the values, at least one, are surely Datums of
// it.
std::optional<records::ValueType> GuessDatumType(
    absl::Span<const absl::Span<const std::uint8_t>> values);

// Returns what a Datum of that type holds. It points into `record`, which holds
// the Datum's bytes, or into what was made. INVALID_ARGUMENT: it is of another
// type.
absl::StatusOr<FieldValue> ContentOf(const Datum& datum,
                                     const records::ValueType& type,
                                     absl::Span<const std::uint8_t> record,
                                     MadeValues* made);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_DATUM_H_
