#ifndef FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_OP_H_
#define FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_OP_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "server/pipeline/ndarray/array_view.h"
#include "server/pipeline/transform/drawn.h"
#include "server/pipeline/transform/draws.h"

namespace forebay::pipeline::ndarray {

// The number and the length of one axis.
struct AxisLength {
  std::size_t axis = 0;
  std::uint64_t length = 0;
};

// An op that chooses and orders an array's elements, but changes none of them.
// Draw makes all random choices of a sample. Apply makes none, so all arrays
// that Apply changes by the same Drawn change alike.
//
// Immutable and thread-safe. Owns its parameters; borrows all arguments. Never
// blocks. Only Draw fails. Draw's message names the op, because callers of Draw
// add no title to it.
class ArrayOp {
 public:
  virtual ~ArrayOp() = default;

  // Makes the random choices for a sample with the array `view`. The choices
  // depend on `draws` and on the lengths of axes only. INVALID_ARGUMENT: the
  // array is too short for the op.
  virtual absl::StatusOr<transform::Drawn> Draw(
      const ArrayView& /*view*/, transform::Draws& /*draws*/) const {
    return transform::Drawn();
  }
  // Changes the view by the choices that Draw made for it.
  virtual void Apply(const transform::Drawn& drawn, ArrayView& view) const = 0;

  // Returns the number and the length that an axis of the op's input has in the
  // op's output. The length is the same for all choices.
  virtual AxisLength Follow(AxisLength input) const = 0;
  // Whether the op only takes a part of the first axis.
  virtual bool takes_part_of_first_axis() const { return false; }
};

}  // namespace forebay::pipeline::ndarray

#endif  // FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_OP_H_
