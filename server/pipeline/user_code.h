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

// The user's own code in the middle of a pipeline, which a worker runs. Each
// sample has a *user-code buffer*: memory that the daemon and the worker share.
// The worker reads its input there, a raw image (proto/raw_image.h), and writes
// its result there.
//
// Immutable and thread-safe; each thread brings its own Workspace. Owns the
// pipeline behind the code; borrows buffers for the call. Never blocks. Errors:
// those of Pipeline::Run. The daemon trusts nothing that it reads from a
// user-code buffer.
class UserCode {
 public:
  // `input` is uint8 with channels last. `after` takes images of the type
  // `result`; it is null if the result is the pipeline's output.
  UserCode(TensorType input, TensorType result, std::unique_ptr<Pipeline> after)
      : input_(std::move(input)),
        result_(std::move(result)),
        after_(std::move(after)) {}

  // Returns the type of the code's result, as the spec gives it.
  // INVALID_ARGUMENT: the type is not valid, or ops follow and the type is not
  // an image.
  static absl::StatusOr<TensorType> ResultOf(const proto::UserCode& spec);

  const TensorType& result() const { return result_; }
  // Returns the pipeline behind the code; null if the result is the output.
  const Pipeline* after() const { return after_.get(); }

  // Returns the size in bytes of a user-code buffer, a multiple of eight.
  std::uint64_t user_buffer_bytes() const;
  // Writes the header of the input's raw image into a user-code buffer, and
  // returns the room for its pixels.
  absl::Span<std::uint8_t> Input(absl::Span<std::uint8_t> user_buffer) const;
  // Makes the pipeline's output from the code's result. The result lies in the
  // user-code buffer, where the input's pixels were.
  absl::Status RunAfter(absl::Span<std::uint8_t> user_buffer,
                        const SampleKey& key, Workspace& workspace,
                        absl::Span<std::uint8_t> out) const;

 private:
  const TensorType input_;
  const TensorType result_;
  const std::unique_ptr<Pipeline> after_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_USER_CODE_H_
