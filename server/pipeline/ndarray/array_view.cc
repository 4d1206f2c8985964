#include "server/pipeline/ndarray/array_view.h"

#include <algorithm>

#include "server/base/check.h"

namespace forebay::pipeline::ndarray {

ArrayView::ArrayView(const transform::TensorType& type,
                     const std::uint8_t* items, std::uint64_t first)
    : rank_(type.shape.size()), items_(items) {
  FOREBAY_CHECK(rank_ < axes_.size());
  // An array without elements has strides of 0. They are never used, and real
  // strides might overflow.
  auto stride = type.bytes == 0
                    ? std::int64_t{0}
                    : static_cast<std::int64_t>(proto::SizeOf(type.dtype));
  for (std::size_t i = rank_; i-- > 0;) {
    const std::uint64_t length = type.shape[i];
    axes_[i] = {.length = length, .present = length, .stride = stride};
    stride *= static_cast<std::int64_t>(length);
  }
  if (rank_ > 0) skipped_ = -axes_[0].stride * static_cast<std::int64_t>(first);
}

std::uint64_t ArrayView::elements() const {
  std::uint64_t product = 1;
  bool fits = true;
  for (const Axis& axis : axes()) {
    if (axis.length == 0) return 0;
    fits &= !__builtin_mul_overflow(product, axis.length, &product);
  }
  return fits ? product : ~std::uint64_t{0};
}

void ArrayView::Cut(std::size_t axis, std::uint64_t begin,
                    std::uint64_t length) {
  Axis& cut = axes_[axis];
  FOREBAY_CHECK(begin <= cut.length);
  const std::uint64_t skipped = std::min(begin, cut.present);
  cut.present = std::min(cut.present - skipped, length);
  // If no element remains, skipped_ does not change, so that it never points
  // outside of the array.
  if (cut.present > 0)
    skipped_ += static_cast<std::int64_t>(skipped) * cut.stride;
  cut.length = length;
}

void ArrayView::Permute(absl::Span<const std::uint8_t> order) {
  FOREBAY_CHECK(order.size() == rank_);
  const std::array<Axis, proto::kMaxRank> before = axes_;
  for (std::size_t i = 0; i < rank_; ++i) axes_[i] = before[order[i]];
}

void ArrayView::Merge() {
  if (rank_ == 0) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < rank_; ++i) {
    Axis& outer = axes_[last];
    const Axis& inner = axes_[i];
    // Only the inner axis must be present as a whole. The outer axis may lack
    // elements, which are then the merged axis's last ones.
    const bool whole =
        inner.present == inner.length &&
        outer.stride == inner.stride * static_cast<std::int64_t>(inner.length);
    if (whole) {
      outer = {.length = outer.length * inner.length,
               .present = outer.present * inner.length,
               .stride = inner.stride};
    } else {
      axes_[++last] = inner;
    }
  }
  rank_ = last + 1;
}

}  // namespace forebay::pipeline::ndarray
