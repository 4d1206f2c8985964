#ifndef FOREBAY_SERVER_SAMPLE_FIELD_DECODER_H_
#define FOREBAY_SERVER_SAMPLE_FIELD_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/array.h"

namespace forebay::sample {

// Takes the fields of one sample as they are decoded. `field` is a field's
// index in the dataset. Used by one thread. Does not own the bytes passed: they
// lie in the bytes that were read for the sample, in ValueBuffers, or in the
// dataset. Errors do not name the field.
class FieldTarget {
 public:
  virtual ~FieldTarget() = default;

  // Takes a label or another integer.
  virtual void SetNumber(std::size_t field, std::int64_t number) = 0;
  // Takes a text, a JSON text or plain bytes.
  virtual void SetBytes(std::size_t field,
                        absl::Span<const std::uint8_t> bytes) = 0;
  // Takes the elements of an array whose type the dataset tells.
  virtual absl::Status SetElements(std::size_t field,
                                   absl::Span<const std::uint8_t> elements) = 0;
  // Takes an array that tells its own type, such as an .npy file.
  virtual absl::Status SetArray(std::size_t field,
                                const pipeline::Array& array) = 0;
  // Takes a TIFF file whose first image is an array, which the target decodes.
  virtual absl::Status SetTiff(std::size_t field,
                               absl::Span<const std::uint8_t> file) = 0;
  // Takes an audio file. The target decodes as much of it as it needs.
  virtual absl::Status SetAudio(std::size_t field,
                                absl::Span<const std::uint8_t> file) = 0;
  // Takes an image. The target gets the image's bytes by ImageBytes and decodes
  // them, unless it has a cached variant of the image.
  virtual absl::Status SetImage(std::size_t field,
                                const dataset::FieldValue& image) = 0;
};

// Returns the bytes of `range` in `read`, which has the bytes of a sample's
// extent. DATA_LOSS: `read` is too short.
absl::StatusOr<absl::Span<const std::uint8_t>> BytesOf(
    absl::Span<const std::uint8_t> read, const dataset::FieldRange& range);

// Returns the encoded bytes of an image or a clip of sample `id`; `image` is
// its value. The bytes lie in `read`, which has the bytes of the sample's
// extent. If they were decompressed, they lie in a buffer from `room`. If
// `image` is a ComputedBytes, the result is `image.bytes`. Errors are those of
// BytesOf and Dataset::Decompress.
absl::StatusOr<absl::Span<const std::uint8_t>> ImageBytes(
    const dataset::Dataset& dataset, std::uint64_t id,
    absl::Span<const std::uint8_t> read, const dataset::FieldValue& image,
    dataset::DecompressionRoom room);

// Decodes all fields of sample `id` into `target`, images last. `read` and
// `buffers` are those of Dataset::ReadValues. Stops at the first error.
// Thread-safe; never blocks by itself, but takes the CPU time of the target's
// decoding. Errors name sample, object and field: those of BytesOf, of the
// target and of the fields' decoders.
absl::Status DecodeFields(const dataset::Dataset& dataset, std::uint64_t id,
                          absl::Span<const std::uint8_t> read,
                          dataset::ValueBuffers& buffers, FieldTarget& target);

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_FIELD_DECODER_H_
