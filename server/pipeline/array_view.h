#ifndef FOREBAY_SERVER_PIPELINE_ARRAY_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_ARRAY_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/pipeline/pipeline.h"

namespace forebay::pipeline {

// Some of an array's elements, in an order of its axes. Elements of an axis
// behind those that are present are 0. Not thread-safe; borrows the elements;
// never blocks; no errors.
class ArrayView {
 public:
  struct Axis {
    std::uint64_t length = 0;
    std::uint64_t present = 0;  // at most `length`
    std::int64_t stride = 0;    // bytes
  };

  // `items` are those of an array of that type, in C order, from index `first`
  // of its first axis on. Elements before it are not to be asked for.
  ArrayView(const TensorType& type, const std::uint8_t* items,
            std::uint64_t first = 0);

  absl::Span<const Axis> axes() const { return {axes_.data(), rank_}; }
  // Where the first element lies; only if there is one.
  const std::uint8_t* data() const { return items_ + skipped_; }
  // The largest number, if there are more.
  std::uint64_t elements() const;
  // Bytes of the elements before the first one, of an array that is all there.
  std::uint64_t skipped() const { return static_cast<std::uint64_t>(skipped_); }

  // Keeps `length` elements of an axis from `begin` on; those behind its end
  // are 0. `begin` is at most the axis's length.
  void Cut(std::size_t axis, std::uint64_t begin, std::uint64_t length);
  // Axis number i becomes what was axis number order[i].
  void Permute(absl::Span<const std::uint8_t> order);
  // Makes one axis of those that lie one behind the other without gaps.
  void Merge();

 private:
  std::array<Axis, proto::kMaxRank> axes_{};
  std::size_t rank_ = 0;
  const std::uint8_t* items_ = nullptr;
  std::int64_t skipped_ = 0;  // bytes of these
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_VIEW_H_
