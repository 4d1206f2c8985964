#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_IMAGE_RECORDING_TARGET_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_IMAGE_RECORDING_TARGET_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/check.h"
#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {

// A target without pixels that records the changes of an op. Not thread-safe.
class RecordingTarget final : public OpTarget {
 public:
  explicit RecordingTarget(transform::ImageExtent extent) : extent_(extent) {}

  transform::ImageExtent extent() const override { return extent_; }
  absl::Status Crop(const transform::CropWindow& window) override {
    windows.push_back(window);
    extent_ = {window.width, window.height};
    return absl::OkStatus();
  }
  absl::Status Pad(const transform::Padding& padding) override {
    paddings.push_back(padding);
    extent_.width += padding.left + padding.right;
    extent_.height += padding.top + padding.bottom;
    return absl::OkStatus();
  }
  absl::Status Resize(transform::ImageExtent extent,
                      transform::Filter /*filter*/) override {
    extent_ = extent;
    return absl::OkStatus();
  }
  void Flip(bool horizontal) override { flips.push_back(horizontal); }
  absl::Status ChangePixels(
      absl::FunctionRef<void(const transform::ScratchImage&)>) override {
    return absl::OkStatus();
  }

  std::vector<transform::CropWindow> windows;
  std::vector<transform::Padding> paddings;
  std::vector<bool> flips;

 private:
  transform::ImageExtent extent_;
};

// Returns the op on pixels that a message adds to a program.
template <typename Message>
std::unique_ptr<const ImageOp> OpOf(const Message& message) {
  ProgramBuilder builder({});
  FOREBAY_CHECK(Add(message, builder).ok());
  builder.SetExtent({1, 1});
  absl::StatusOr<Program> program = builder.Finish();
  FOREBAY_CHECK(program.ok());
  return std::move(program->ops.front().op);
}

// Returns the changes that an op makes to an image of the size `extent`.
inline absl::StatusOr<RecordingTarget> ChangesBy(const ImageOp& op,
                                                 transform::ImageExtent extent,
                                                 transform::Draws& draws) {
  RecordingTarget target(extent);
  const absl::StatusOr<transform::Drawn> drawn = op.Draw(extent, draws);
  if (!drawn.ok()) return drawn.status();
  const absl::Status status = op.Apply(*drawn, target);
  if (!status.ok()) return status;
  return target;
}

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_IMAGE_RECORDING_TARGET_H_
