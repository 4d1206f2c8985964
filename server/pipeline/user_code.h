#ifndef FOREBAY_SERVER_PIPELINE_USER_CODE_H_
#define FOREBAY_SERVER_PIPELINE_USER_CODE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/pipeline.h"

namespace forebay::pipeline {

// The user's own code in the middle of a pipeline, which a producer runs. It
// has a *desk* for each sample: memory that producers share, on which it finds
// the input, a raw image (proto/raw_image.h), and leaves its result.
//
// Immutable and thread-safe; each thread brings its own Workspace. Does not
// block. Errors: those of Pipeline::Run. Nothing that lies on a desk is
// trusted.
class UserCode {
 public:
  // `input`: uint8, channels last. `after`: made for `result`; null if that is
  // the output.
  UserCode(TensorType input, TensorType result, std::unique_ptr<Pipeline> after)
      : input_(std::move(input)),
        result_(std::move(result)),
        after_(std::move(after)) {}

  // The checked result of the code that the spec describes. INVALID_ARGUMENT.
  static absl::StatusOr<TensorType> ResultOf(const proto::UserCode& spec);

  const TensorType& result() const { return result_; }
  // Null if the result is the pipeline's output.
  const Pipeline* after() const { return after_.get(); }

  // The bytes of a desk: a multiple of eight.
  std::uint64_t desk_bytes() const;
  // Begins the raw image on a desk, and returns the place of its pixels.
  absl::Span<std::uint8_t> Input(absl::Span<std::uint8_t> desk) const;
  // Makes the output of the result, which lies on the desk where the input's
  // pixels were.
  absl::Status RunAfter(absl::Span<std::uint8_t> desk, const SampleKey& key,
                        Workspace& workspace,
                        absl::Span<std::uint8_t> out) const;

 private:
  const TensorType input_;
  const TensorType result_;
  const std::unique_ptr<Pipeline> after_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_USER_CODE_H_
