#ifndef FOREBAY_SERVER_PIPELINE_PIPELINE_H_
#define FOREBAY_SERVER_PIPELINE_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/pipeline/workspace.h"

namespace forebay::proto {
class PipelineSpec;
}  // namespace forebay::proto

namespace forebay::pipeline {

struct Tail;
class UserCode;

// Keys all of a sample's random draws.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
};

// The tensor that one sample becomes.
struct TensorType {
  proto::DType dtype = proto::DType::kUint8;
  std::vector<std::uint64_t> shape;  // without the batch dimension
  std::uint64_t bytes = 0;
};

// The part of a pipeline that runs here.
enum class Part {
  kWhole,
  // All but the tail (tail.h): the output is uint8, channels last. A pipeline
  // that cannot be cut runs as a whole.
  kBeforeTail,
};

// The number of no variant.
inline constexpr std::uint64_t kNoVariant = 0;

// Takes the variant that a pipeline makes of an image. Called on the thread
// that runs the pipeline. Must not block for long; no errors.
class VariantTarget {
 public:
  virtual ~VariantTarget() = default;
  // Returns room for a variant of so many bytes; empty if it is not wanted.
  virtual absl::Span<std::uint8_t> RoomFor(std::uint64_t bytes) = 0;
  // To be called when that room is filled.
  virtual void Filled() = 0;
};

// Turns one encoded image into one tensor, straight in its place. The *prefix*
// is the first ops, as far as they do the same to a sample whatever its key. It
// makes the image's *variant*, which serves every sample key, and every
// pipeline with the same prefix.
//
// Immutable and thread-safe; each thread brings its own Workspace. Does not
// block. Create fails with INVALID_ARGUMENT, naming the op. If the output's
// shape would vary from sample to sample, the error names the op to add.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(
      const proto::PipelineSpec& spec, Part part = Part::kWhole);

  virtual const TensorType& output() const = 0;
  // The part that is left to do. Null if nothing is.
  virtual const Tail* tail() const = 0;
  // The user's own code in the pipeline's middle. Then the functions below only
  // make its input, not the output. Null if there is none.
  virtual const UserCode* user_code() const { return nullptr; }

  // Fills `out` (output().bytes long) from `encoded`, the bytes of an image
  // file. Equal inputs give equal bytes on every CPU. Errors: DATA_LOSS
  // (corrupt or not an image), RESOURCE_EXHAUSTED (more pixels or scratch than
  // the workspace's limits allow; see Workspace::WantsLarger), INVALID_ARGUMENT
  // (the image is smaller than a RandomCrop without pad_if_needed).
  virtual absl::Status Run(absl::Span<const std::uint8_t> encoded,
                           const SampleKey& key, Workspace& workspace,
                           absl::Span<std::uint8_t> out) const = 0;

  // Identifies the variant that the prefix, decoding at least, makes of an
  // image: a raw image (proto/raw_image.h). Equal numbers mean equal pixels in
  // all pipelines. kNoVariant if no variant serves every sample key.
  virtual std::uint64_t variant() const = 0;
  // As Run, from that variant of the image; gives the same bytes.
  virtual absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                                      const SampleKey& key,
                                      Workspace& workspace,
                                      absl::Span<std::uint8_t> out) const = 0;
  // As Run. Also writes the variant into `target`, if that has room. Leaves it
  // out if there is none, or if the image is too damaged to be decoded as a
  // whole.
  virtual absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                                  const SampleKey& key, Workspace& workspace,
                                  absl::Span<std::uint8_t> out,
                                  VariantTarget& target) const = 0;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PIPELINE_H_
