#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"

namespace forebay::pipeline::image {
namespace {

// Adds pixels around the image.
class Pad final : public ImageOp {
 public:
  explicit Pad(const transform::Padding& padding) : padding_(padding) {}

  absl::Status Apply(const transform::Drawn& /*drawn*/,
                     OpTarget& target) const override {
    return target.Pad(padding_);
  }
  bool may_show_fill() const override { return true; }

 private:
  const transform::Padding padding_;
};

}  // namespace

absl::Status Add(const proto::Pad& op, ProgramBuilder& program) {
  const transform::Padding padding = PaddingOf(op.padding());
  FOREBAY_ASSIGN_OR_RETURN(const ChannelValues fill,
                           FillOf(op.padding(), program.channels()));
  if (auto extent = program.extent(); extent.has_value()) {
    extent->width += padding.left + padding.right;
    extent->height += padding.top + padding.bottom;
    program.SetExtent(*extent);
  }
  program.Append(std::make_unique<Pad>(padding), fill);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
