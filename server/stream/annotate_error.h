#ifndef FOREBAY_SERVER_STREAM_ANNOTATE_ERROR_H_
#define FOREBAY_SERVER_STREAM_ANNOTATE_ERROR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "server/dataset/dataset.h"

namespace forebay::stream {

// Names the sample, and the dataset, of an error that names its object.
absl::Status AnnotateSampleError(const dataset::Dataset& dataset,
                                 std::uint64_t id, const absl::Status& status);

// Names the object, too, and the field, where the object is not the field.
absl::Status AnnotateFieldError(const dataset::Dataset& dataset,
                                std::uint64_t id, std::size_t field,
                                const absl::Status& status);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ANNOTATE_ERROR_H_
