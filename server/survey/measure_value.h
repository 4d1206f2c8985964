#ifndef FOREBAY_SERVER_SURVEY_MEASURE_VALUE_H_
#define FOREBAY_SERVER_SURVEY_MEASURE_VALUE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/survey/value_sizes.h"

namespace forebay::survey {

// Measures what sample `id` has of `field`. `read` is all of its extent, and
// `room` is for what is unpacked of it. Thread-safe; does not block, but takes
// as long as finding the value, and the length of a clip. Errors name sample,
// object and field: those of Dataset::ReadValues and Unpack, of
// pipeline::ReadArray and of audio::ClipDecoder::Open.
absl::StatusOr<ValueSize> MeasureValue(const dataset::Dataset& dataset,
                                       std::uint64_t id, std::size_t field,
                                       absl::Span<const std::uint8_t> read,
                                       dataset::UnpackRoom room);

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_MEASURE_VALUE_H_
