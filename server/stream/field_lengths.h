#ifndef FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
#define FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/dataset/dataset.h"
#include "server/sampler/sample_lengths.h"
#include "server/stream/field_type.h"
#include "server/survey/value_sizes.h"

namespace forebay::stream {

// The unit of lengths.
enum class LengthUnit {
  kElements,  // along the first axis of an array; bytes of anything else
  kTime,      // of clips; a second has kUnitsPerSecond
};

// Each frame of a clip of a usual sample rate has a whole number of them.
inline constexpr std::uint64_t kUnitsPerSecond = 14'112'000;

// The longest that a sample may be; longer ones count as much.
inline constexpr std::uint64_t kLongestLength = std::uint64_t{1} << 40;

// The length of a value, as the pipeline of its field makes it. At least 1, so
// that a batch has no more samples than elements.
std::uint64_t LengthOf(const pipeline::Outcome& outcome, LengthUnit unit);

// Whether the dataset's index knows the lengths of a field that varies.
bool IndexHasLengths(const dataset::Dataset& dataset, const FieldType& type);

// The lengths of samples, which are those of one field that varies. Shares the
// dataset and the sizes. As SampleLengths says.
class FieldLengths final : public sampler::SampleLengths {
 public:
  // `type` is of field number `field`. `sizes`: what was measured of it; null:
  // the index knows, and the unit is elements.
  FieldLengths(std::shared_ptr<const dataset::Dataset> dataset,
               std::size_t field, FieldType type,
               std::shared_ptr<const survey::ValueSizes> sizes = nullptr,
               LengthUnit unit = LengthUnit::kElements);

  std::uint64_t LengthOf(std::uint64_t sample) const override;

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t field_;
  const FieldType type_;
  const std::shared_ptr<const survey::ValueSizes> sizes_;
  const LengthUnit unit_;
};

// All samples are of one length.
class EqualLengths final : public sampler::SampleLengths {
 public:
  explicit EqualLengths(std::uint64_t length) : length_(length) {}

  std::uint64_t LengthOf(std::uint64_t) const override { return length_; }

 private:
  const std::uint64_t length_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
