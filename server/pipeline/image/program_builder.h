#ifndef FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_BUILDER_H_
#define FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_BUILDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/image/image_op.h"
#include "server/pipeline/image/program.h"
#include "server/pipeline/transform/image_extent.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline::image {

// The images that a program's first op is given.
struct ProgramInput {
  // Number of the program's first op among all ops of the pipeline.
  int first_index = 0;
  // Number of ops before the first op that say how images are decoded.
  int decode_ops = 0;
  int channels = transform::kColors;
  // Size of all images; nullopt if they may differ.
  std::optional<transform::ImageExtent> extent;
};

// A number for each channel.
using ChannelValues = std::array<double, transform::kColors>;

// Follows type, channels and size of the image through the ops, one by one, and
// collects what the ops add. Each op's Add (image_ops.h) reads the state that
// the ops before it left, and changes it.
//
// Not thread-safe. Owns the program until Finish. Never blocks. The only error
// is INVALID_ARGUMENT.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const ProgramInput& input);

  // Begins with op number `index` of the pipeline. The functions below then
  // speak of that op.
  void Begin(int index) { index_ = index; }
  int index() const { return index_; }

  // Returns how many ops before this one say how images are decoded.
  int decode_ops() const { return program_.decode_ops; }
  bool upright() const { return program_.upright; }
  // Returns the channels of the image, 3 or 1.
  int channels() const { return program_.channels; }
  // Returns the size of all images; nullopt if they may differ.
  const std::optional<transform::ImageExtent>& extent() const {
    return extent_;
  }
  // Returns the type of the values.
  proto::DType dtype() const { return dtype_; }
  // Returns the number of the first op that changed the values' type; -1 if no
  // op did.
  int first_conversion() const { return first_conversion_; }

  // Says that the op only tells how images are decoded.
  void SetScaled(bool scaled);
  void SetUpright();
  // Sets the channels, the size or the layout of the images behind the op.
  void SetChannels(int channels) { program_.channels = channels; }
  void SetExtent(transform::ImageExtent extent) { extent_ = extent; }
  void SetChannelsLast(bool last) { program_.channels_last = last; }

  // Adds an op on pixels, with the values of its fill.
  void Append(std::unique_ptr<const ImageOp> op,
              const ChannelValues& fill = {});
  // Adds a step on values.
  void Append(const transform::Convert& convert);
  void Append(const transform::Normalize& normalize);

  // Computes the value table and the fills, and returns the program.
  // INVALID_ARGUMENT: the images may differ in size behind the last op.
  absl::StatusOr<Program> Finish();

 private:
  // A fill whose element is computed once all value steps are known.
  struct PendingFill {
    ChannelValues values;
    // Number of value steps before the op. The fill goes through the steps from
    // this number on.
    std::size_t step;
  };

  // Computes the fill of op number i.
  void FinishFill(std::size_t i);

  Program program_;
  // Fill of each op, by position in program_.ops.
  std::vector<PendingFill> fills_;
  // Type conversions and normalising, in order.
  std::vector<transform::ValueStep> values_;
  proto::DType dtype_ = proto::DType::kUint8;
  int first_conversion_ = -1;
  int index_ = 0;
  std::optional<transform::ImageExtent> extent_;
};

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_BUILDER_H_
