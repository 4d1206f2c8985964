#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/ndarray/array_ops.h"

namespace forebay::pipeline::ndarray {
namespace {

// Reorders axes: axis i of the result is axis order[i] of the input.
class Transpose final : public ArrayOp {
 public:
  explicit Transpose(std::vector<std::uint8_t> order)
      : order_(std::move(order)) {}

  void Apply(const transform::Drawn& /*drawn*/,
             ArrayView& view) const override {
    view.Permute(order_);
  }
  AxisLength Follow(AxisLength input) const override {
    const auto at = std::find(order_.begin(), order_.end(), input.axis);
    input.axis = static_cast<std::size_t>(at - order_.begin());
    return input;
  }

 private:
  const std::vector<std::uint8_t> order_;
};

}  // namespace

absl::Status Add(const proto::Transpose& op, ArrayProgramBuilder& program) {
  FOREBAY_RETURN_IF_ERROR(program.CheckNoSteps());
  std::vector<std::uint32_t> wanted(program.shape().size());
  std::iota(wanted.begin(), wanted.end(), 0);
  if (!std::is_permutation(wanted.begin(), wanted.end(), op.order().begin(),
                           op.order().end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axes must be 0 to ", wanted.size(), " - 1 in some order"));
  }
  std::vector<std::uint8_t> order(op.order().begin(), op.order().end());
  program.Permute(order);
  program.Append(std::make_unique<const Transpose>(std::move(order)));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::ndarray
