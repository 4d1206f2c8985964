#ifndef FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_FILE_H_
#define FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_file.h"
#include "server/length_scan/value_sizes.h"

// The file of a field's sizes (see dataset/index_file.h) has a header, the
// items and the rates. Functions are thread-safe. Encoding never blocks;
// decoding blocks for the disk.

namespace forebay::length_scan {

// Returns the content of the file. `samples` is a digest that identifies the
// measured samples.
std::string EncodeValueSizes(const ValueSizes& sizes,
                             const dataset::Version& samples);

// Reads sizes from a file, and takes their memory from `memory`. NOT_FOUND: the
// file has another digest than `samples`, or does not have `count` sizes.
// DATA_LOSS: the file is damaged. RESOURCE_EXHAUSTED: `memory` cannot grow.
// Others: errors of the disk.
absl::StatusOr<std::shared_ptr<const ValueSizes>> DecodeValueSizes(
    dataset::IndexFileReader& file, const dataset::Version& samples,
    std::uint64_t count, base::WorkingMemory& memory);

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_FILE_H_
