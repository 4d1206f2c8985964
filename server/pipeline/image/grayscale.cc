#include "absl/strings/str_cat.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/transform/color.h"

namespace forebay::pipeline::image {
namespace {

// Sets all channels to the luma.
class Grayscale final : public ImageOp {
 public:
  absl::Status Apply(const transform::Drawn& /*drawn*/,
                     OpTarget& target) const override {
    return target.ChangePixels([](const transform::ScratchImage& image) {
      transform::MakeGray(image.pixels());
    });
  }
};

}  // namespace

absl::Status Add(const proto::Grayscale& op, ProgramBuilder& program) {
  if (op.num_output_channels() > 1 && op.num_output_channels() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_output_channels is ", op.num_output_channels(), ", not 1 or 3"));
  }
  program.SetChannels(op.num_output_channels() == 3 ? 3 : 1);
  program.Append(std::make_unique<Grayscale>());
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
