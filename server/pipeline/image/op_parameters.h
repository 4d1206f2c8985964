#ifndef FOREBAY_SERVER_PIPELINE_IMAGE_OP_PARAMETERS_H_
#define FOREBAY_SERVER_PIPELINE_IMAGE_OP_PARAMETERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/image/program_builder.h"
#include "server/pipeline/transform/filter.h"
#include "server/pipeline/transform/padding.h"

namespace forebay::pipeline::image {

// These functions read parameters that several ops have, whose numbers are
// within the bounds of job.proto. The bounds limit lengths so that arithmetic
// in 64 bits cannot overflow, and factors so that float32 results stay finite.
//
// Thread-safe; none blocks. INVALID_ARGUMENT names the parameter as Python's
// transforms do.

// Returns the filter of an interpolation. The default is bilinear, as in
// torchvision.
transform::Filter FilterOf(proto::Interpolation interpolation);

// Returns the padding that a message describes.
transform::Padding PaddingOf(const proto::Padding& message);

// Returns the fill of a padding for each channel, 0 to 255.
absl::StatusOr<ChannelValues> FillOf(const proto::Padding& message,
                                     int channels);

// Returns a number for each channel. `numbers` has one number for all channels,
// or one for each. `name` is the parameter's.
absl::StatusOr<ChannelValues> PerChannel(absl::Span<const double> numbers,
                                         int channels, std::string_view name);

// Checks that the lower end of a range is not above the upper end.
absl::Status CheckOrder(double min, double max, std::string_view name);

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_SERVER_PIPELINE_IMAGE_OP_PARAMETERS_H_
