#ifndef FOREBAY_SERVER_PIPELINE_OP_READER_H_
#define FOREBAY_SERVER_PIPELINE_OP_READER_H_

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/pipeline/transform/ops.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline {

// Each function reads one op that CheckFields (op_traits.h) has found good, and
// checks its parameters against each other. INVALID_ARGUMENT says which
// parameter is wrong and how, without the op's title. Thread-safe; never
// blocks.

absl::StatusOr<transform::Resize> Read(const proto::Resize& op);
transform::CenterCrop Read(const proto::CenterCrop& op);
transform::RandomCrop Read(const proto::RandomCrop& op);
absl::StatusOr<transform::RandomResizedCrop> Read(
    const proto::RandomResizedCrop& op);
transform::RandomFlip Read(const proto::RandomHorizontalFlip& op);
transform::RandomFlip Read(const proto::RandomVerticalFlip& op);
absl::StatusOr<transform::ColorJitter> Read(const proto::ColorJitter& op);
// Returns the number of output channels, 1 or 3.
absl::StatusOr<int> Read(const proto::Grayscale& op);
transform::Padding Read(const proto::Padding& op);
// Returns a mean and a std for each channel. `channels`, 1 or 3, are the
// image's.
absl::StatusOr<transform::Normalize> Read(const proto::Normalize& op,
                                          int channels);
absl::StatusOr<transform::Convert> Read(const proto::ToDtype& op);
// Returns whether the channels come last.
bool Read(const proto::ToImage& op);

// Returns the fill of a Padding for each channel, 0 to 255.
absl::StatusOr<std::array<double, transform::kColors>> ReadFill(
    const proto::Padding& op, int channels);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_OP_READER_H_
