#ifndef FOREBAY_SERVER_SURVEY_VALUE_SIZES_FILE_H_
#define FOREBAY_SERVER_SURVEY_VALUE_SIZES_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_file.h"
#include "server/survey/value_sizes.h"

// The file of a field's sizes (dataset/index_file.h): a header, the items and
// the rates. Thread-safe. Encoding never blocks; decoding does for the disk.

namespace forebay::survey {

// `samples` tells the samples that were measured apart from others.
std::string EncodeValueSizes(const ValueSizes& sizes,
                             const dataset::Version& samples);

// Takes the memory of the sizes from `memory`. NOT_FOUND: they are of other
// samples, or of another number than `count`. DATA_LOSS: the file is damaged.
// RESOURCE_EXHAUSTED: that of `memory`. Others: the disk's.
absl::StatusOr<std::shared_ptr<const ValueSizes>> DecodeValueSizes(
    dataset::IndexFileReader& file, const dataset::Version& samples,
    std::uint64_t count, base::WorkingMemory& memory);

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_VALUE_SIZES_FILE_H_
