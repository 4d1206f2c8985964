#ifndef FOREBAY_SERVER_DATASET_TFRECORD_FIELD_GUESS_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_FIELD_GUESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/tfrecord/record_fields.h"

namespace forebay::dataset::tfrecord {

// The fields that records seem to have.
struct FieldGuess {
  RecordFields fields;
  // A sentence about each feature that cannot be a field.
  std::vector<std::string> left_out = {};
};

// Guesses the fields of a dataset from the payloads of its first records. If
// all payloads are Examples or SequenceExamples, the fields are their features,
// in the order of names. A feature gets the first of these types that applies:
//
// "int64", "float32"   if each record has one number
// "int64[n]" and such  if a record has several numbers, or none
// "image"              if all values are image files; only the first one
// "audio"              if all values are audio files
// "text"               if all values are printable
// "bytes"              otherwise
//
// Otherwise there is one field, the whole payload: an image if all payloads are
// image files, an audio file if all are audio files, and otherwise bytes.
//
// Thread-safe; never blocks; has no errors.
FieldGuess GuessFields(
    absl::Span<const absl::Span<const std::uint8_t>> payloads);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FIELD_GUESS_H_
