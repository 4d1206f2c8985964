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

// Takes the fields of one sample, by their number in the dataset, as they are
// decoded. Used by one thread. The bytes that it gets belong to what was read,
// to what was made of that, or to the dataset. Errors give the reason alone.
class FieldTarget {
 public:
  virtual ~FieldTarget() = default;

  virtual void SetNumber(std::size_t field, std::int64_t number) = 0;
  // A text, a JSON text or plain bytes.
  virtual void SetBytes(std::size_t field,
                        absl::Span<const std::uint8_t> bytes) = 0;
  // The elements of an array whose type the dataset says.
  virtual absl::Status SetElements(std::size_t field,
                                   absl::Span<const std::uint8_t> elements) = 0;
  // An array that says its type itself.
  virtual absl::Status SetArray(std::size_t field,
                                const pipeline::Array& array) = 0;
  // A TIFF file whose first image is an array, which the target decodes.
  virtual absl::Status SetTiff(std::size_t field,
                               absl::Span<const std::uint8_t> file) = 0;
  // An audio file, of which the target decodes what it needs.
  virtual absl::Status SetAudio(std::size_t field,
                                absl::Span<const std::uint8_t> file) = 0;
  // An image, which the target decodes: it may have a cached variant of it. If
  // it needs the image's own bytes, it finds them by ImageBytes.
  virtual absl::Status SetImage(std::size_t field,
                                const dataset::FieldValue& image) = 0;
};

// The bytes of `range` among `read`, all that was read of a sample. Errors:
// DATA_LOSS, they are not all there.
absl::StatusOr<absl::Span<const std::uint8_t>> BytesOf(
    absl::Span<const std::uint8_t> read, const dataset::FieldRange& range);

// The bytes of an image or a clip of sample `id`, whose value is `image`. They
// lie among `read`, all that was read of the sample, in what was made of that,
// or in `room`. Errors: those of BytesOf and Dataset::Unpack.
absl::StatusOr<absl::Span<const std::uint8_t>> ImageBytes(
    const dataset::Dataset& dataset, std::uint64_t id,
    absl::Span<const std::uint8_t> read, const dataset::FieldValue& image,
    dataset::UnpackRoom room);

// Decodes all fields of sample `id` into `target`, images last, from `read`,
// all that was read of the sample. Keeps in `made` what the target gets besides
// that, as Dataset::ReadValues says. Stops at the first error. Thread-safe;
// takes as long as the target's images do. Errors name sample, object and
// field: those of BytesOf, the target and the fields' decoders.
absl::Status DecodeFields(const dataset::Dataset& dataset, std::uint64_t id,
                          absl::Span<const std::uint8_t> read,
                          dataset::MadeValues& made, FieldTarget& target);

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_FIELD_DECODER_H_
