#ifndef FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
#define FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/dataset/dataset.h"
#include "server/length_scan/value_sizes.h"
#include "server/sampler/sample_lengths.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// The unit of lengths.
enum class LengthUnit {
  // Elements along the first axis of an array; bytes of other fields.
  kElements,
  // Time, for audio clips: kUnitsPerSecond units are a second.
  kTime,
};

// The number of units of kTime in a second. It is a multiple of 16000, 44100,
// 48000 and other usual sample rates, so that a frame has a whole number of
// units.
inline constexpr std::uint64_t kUnitsPerSecond = 14'112'000;

// The largest length of a sample; longer samples count as this long.
inline constexpr std::uint64_t kLongestLength = std::uint64_t{1} << 40;

// Returns the length of a value for which the pipeline of its field has the
// result `outcome`. The length is at least 1, so that a batch has no more
// samples than elements.
std::uint64_t LengthOf(const pipeline::Outcome& outcome, LengthUnit unit);

// Whether the dataset's index knows the lengths of a field that varies.
bool IndexHasLengths(const dataset::Dataset& dataset, const FieldType& type);

// The lengths of samples. The length of a sample is the length of its value of
// one field that varies.
//
// Immutable and thread-safe. Shares the dataset and the sizes. Never blocks. No
// errors.
class FieldLengths final : public sampler::SampleLengths {
 public:
  // `type` is the type of field number `field`. `sizes` holds the sizes of that
  // field's values, as a length scan measured them. If `sizes` is null, the
  // lengths come from the dataset's index, and `unit` is kElements.
  FieldLengths(std::shared_ptr<const dataset::Dataset> dataset,
               std::size_t field, FieldType type,
               std::shared_ptr<const length_scan::ValueSizes> sizes = nullptr,
               LengthUnit unit = LengthUnit::kElements);

  std::uint64_t LengthOf(std::uint64_t sample) const override;

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t field_;
  const FieldType type_;
  const std::shared_ptr<const length_scan::ValueSizes> sizes_;
  const LengthUnit unit_;
};

// The lengths of samples that are all equally long. The contract is that of
// FieldLengths.
class EqualLengths final : public sampler::SampleLengths {
 public:
  explicit EqualLengths(std::uint64_t length) : length_(length) {}

  std::uint64_t LengthOf(std::uint64_t) const override { return length_; }

 private:
  const std::uint64_t length_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
