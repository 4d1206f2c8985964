#ifndef FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/pipeline/transform/tensor_type.h"

namespace forebay::pipeline::ndarray {

// A view of some elements of an array, with the axes in any order. An axis of
// the view may be longer than the array: the elements that the array lacks are
// 0. Not thread-safe. Borrows the elements. Never blocks. No errors.
class ArrayView {
 public:
  // An axis of the view.
  struct Axis {
    std::uint64_t length = 0;
    // Number of the axis's elements that lie in the array. The other `length` -
    // `present` elements, behind them, are 0.
    std::uint64_t present = 0;
    // Bytes from one element to the next.
    std::int64_t stride = 0;
  };

  // Views the whole array of the type `type`. `items` are the array's elements
  // in C order, from index `first` of the first axis on. Callers must not read
  // earlier elements.
  ArrayView(const transform::TensorType& type, const std::uint8_t* items,
            std::uint64_t first = 0);

  absl::Span<const Axis> axes() const { return {axes_.data(), rank_}; }
  // Returns the address of the view's first element. The view must not be
  // empty.
  const std::uint8_t* data() const { return items_ + skipped_; }
  // Returns the number of elements, or 2^64 - 1 if the number overflows.
  std::uint64_t elements() const;
  // Returns the offset in bytes of the view's first element in the whole array,
  // whose first axis begins with index 0.
  std::uint64_t skipped() const { return static_cast<std::uint64_t>(skipped_); }

  // Keeps `length` elements of the axis number `axis`, from index `begin` on.
  // `begin` is at most the axis's length. Elements behind the axis's end are 0.
  void Cut(std::size_t axis, std::uint64_t begin, std::uint64_t length);
  // Makes axis number order[i] axis number i.
  void Permute(absl::Span<const std::uint8_t> order);
  // Joins neighbouring axes into one axis where no gaps lie between elements.
  void Merge();

 private:
  std::array<Axis, proto::kMaxRank> axes_{};
  std::size_t rank_ = 0;
  const std::uint8_t* items_ = nullptr;
  // Bytes from `items_` to the view's first element. The constructor sets a
  // negative number if `items_` does not begin with index 0.
  std::int64_t skipped_ = 0;
};

}  // namespace forebay::pipeline::ndarray

#endif  // FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_VIEW_H_
