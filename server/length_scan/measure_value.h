#ifndef FOREBAY_SERVER_LENGTH_SCAN_MEASURE_VALUE_H_
#define FOREBAY_SERVER_LENGTH_SCAN_MEASURE_VALUE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/length_scan/value_sizes.h"

namespace forebay::length_scan {

// Measures the value of `field` in sample `id`. `read` holds all bytes of the
// sample's extent. Decompressed bytes are written to buffers that `room`
// returns. Thread-safe. Does not block, but uses CPU time to find the value,
// and to parse a clip if the field is audio. Errors: those of
// Dataset::ReadValues, Dataset::Decompress, pipeline::ReadArray and
// audio::ClipDecoder::Open. Each error names the sample and its object.
absl::StatusOr<ValueSize> MeasureValue(const dataset::Dataset& dataset,
                                       std::uint64_t id, std::size_t field,
                                       absl::Span<const std::uint8_t> read,
                                       dataset::DecompressionRoom room);

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_MEASURE_VALUE_H_
