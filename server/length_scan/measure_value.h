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
// sample's extent. Decompressed bytes are written to `room`. Thread-safe. Does
// not block, but takes the CPU time of finding the value, and of parsing a
// clip. Errors name sample, object and field: those of Dataset::ReadValues,
// Dataset::Decompress, pipeline::ReadArray and audio::ClipDecoder::Open.
absl::StatusOr<ValueSize> MeasureValue(const dataset::Dataset& dataset,
                                       std::uint64_t id, std::size_t field,
                                       absl::Span<const std::uint8_t> read,
                                       dataset::DecompressionRoom room);

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_MEASURE_VALUE_H_
