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
  // A sentence each about features that are left out.
  std::vector<std::string> left_out = {};
};

// Guesses the fields of the first records of a dataset, by their payloads. If
// all are Examples or SequenceExamples, the fields are their features, by name:
// a number where all have one, else an array of any length; the first image
// file as an image; audio files; text that can be printed; else bytes. Other
// payloads are an image or an audio file each, or bytes.
//
// Thread-safe; never blocks; has no errors.
FieldGuess GuessFields(
    absl::Span<const absl::Span<const std::uint8_t>> payloads);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FIELD_GUESS_H_
