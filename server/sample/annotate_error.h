#ifndef FOREBAY_SERVER_SAMPLE_ANNOTATE_ERROR_H_
#define FOREBAY_SERVER_SAMPLE_ANNOTATE_ERROR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "server/dataset/dataset.h"

namespace forebay::sample {

// Adds the sample and the dataset to an error that already names its object.
// Thread-safe; never blocks.
absl::Status AnnotateSampleError(const dataset::Dataset& dataset,
                                 std::uint64_t id, const absl::Status& status);

// Adds the sample, the dataset and the object to an error. Adds the field, too,
// unless the object has only that field. Thread-safe; never blocks.
absl::Status AnnotateFieldError(const dataset::Dataset& dataset,
                                std::uint64_t id, std::size_t field,
                                const absl::Status& status);

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_ANNOTATE_ERROR_H_
