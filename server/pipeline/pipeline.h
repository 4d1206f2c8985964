#ifndef FOREBAY_SERVER_PIPELINE_PIPELINE_H_
#define FOREBAY_SERVER_PIPELINE_PIPELINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/transform/sample_key.h"
#include "server/pipeline/transform/tensor_type.h"
#include "server/pipeline/workspace.h"

namespace forebay::proto {
class PipelineSpec;
}  // namespace forebay::proto

namespace forebay::pipeline {

struct Tail;
class UserCode;

using transform::SampleKey;
using transform::TensorType;

// The part of a pipeline that runs in the daemon.
enum class Part {
  // Everything, up to the finished tensor.
  kWhole,
  // Everything but the tail (tail.h): the output is uint8 with channels last,
  // and the trainer applies the tail. A pipeline whose tail cannot be cut off
  // runs as a whole.
  kBeforeTail,
};

// The number that stands for "no variant".
inline constexpr std::uint64_t kNoVariant = 0;

// Receives the variant that a pipeline makes of an image. The pipeline borrows
// the target, and calls it on the thread that runs the pipeline. Calls must not
// block for long. No errors.
class VariantTarget {
 public:
  virtual ~VariantTarget() = default;
  // Returns room for a variant of `bytes` bytes, or an empty span if the
  // variant is not wanted.
  virtual absl::Span<std::uint8_t> RoomFor(std::uint64_t bytes) = 0;
  // The pipeline calls this when it has filled the room that RoomFor returned.
  virtual void Filled() = 0;
};

// Turns one encoded image into one tensor, and writes the tensor straight to
// its place in the slot. The *prefix* of a pipeline is decoding and the resizes
// and center crops that come first. Their effect does not depend on the
// sample's key. The result of the prefix is the image's *variant*. It serves
// every sample key, and every pipeline with the same prefix.
//
// Immutable and thread-safe; each thread brings its own Workspace. Owns its
// program; borrows all arguments for the call. Never blocks. Create fails with
// INVALID_ARGUMENT; the error names the op. If the output's shape would vary
// from sample to sample, the error says which op to add.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  // Compiles a spec into a pipeline. `part` says which part of it runs in the
  // daemon.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(
      const proto::PipelineSpec& spec, Part part = Part::kWhole);

  // Returns the type of the tensor that Run fills.
  virtual const TensorType& output() const = 0;
  // Returns the tail that is left to the trainer; null if Run makes the
  // finished tensor.
  virtual const Tail* tail() const = 0;
  // Returns the user's own code in the middle of the pipeline; null if there is
  // none. With such code, the functions below make its input, not the output.
  virtual const UserCode* user_code() const { return nullptr; }

  // Fills `out`, of output().bytes bytes, from `encoded`, the bytes of an image
  // file. Equal inputs give equal bytes on every CPU. DATA_LOSS: the bytes are
  // damaged or not an image. RESOURCE_EXHAUSTED: more pixels or scratch than
  // the workspace's limits allow; see Workspace::WantsLarger. INVALID_ARGUMENT:
  // the image is smaller than a RandomCrop without pad_if_needed.
  virtual absl::Status Run(absl::Span<const std::uint8_t> encoded,
                           const SampleKey& key, Workspace& workspace,
                           absl::Span<std::uint8_t> out) const = 0;

  // Returns the number of the variant that the prefix makes of an image. A
  // variant is a raw image (proto/raw_image.h); the shortest prefix only
  // decodes the image. Equal numbers mean equal pixels in all pipelines.
  // kNoVariant if no variant serves every sample key.
  virtual std::uint64_t variant() const = 0;
  // Fills `out` from the image's variant. The bytes and errors are the same as
  // Run's.
  virtual absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                                      const SampleKey& key,
                                      Workspace& workspace,
                                      absl::Span<std::uint8_t> out) const = 0;
  // Fills `out` as Run does. Also writes the variant into `target`, if RoomFor
  // returns room. Writes no variant if variant() is kNoVariant, or if damage
  // keeps the image from being decoded as a whole.
  virtual absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                                  const SampleKey& key, Workspace& workspace,
                                  absl::Span<std::uint8_t> out,
                                  VariantTarget& target) const = 0;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PIPELINE_H_
