#ifndef FOREBAY_SERVER_PIPELINE_IMAGE_IMAGE_OP_H_
#define FOREBAY_SERVER_PIPELINE_IMAGE_IMAGE_OP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/image/op_target.h"
#include "server/pipeline/transform/drawn.h"
#include "server/pipeline/transform/draws.h"

namespace forebay::pipeline::image {

// An op on pixels, which does what torchvision's transform of the same name
// does. Draw makes all random choices of a sample. Apply makes none, so with
// equal choices it changes all targets in the same way.
//
// Immutable and thread-safe. Owns its parameters; borrows all arguments. Never
// blocks. Apply returns the errors of the target. The comment on Draw lists
// Draw's errors, whose messages name the op.
class ImageOp {
 public:
  virtual ~ImageOp() = default;

  // Makes the random choices for a sample whose image has the size `extent`
  // where the op gets it. The order of the draws is part of the op's contract:
  // equal `draws` give equal choices. INVALID_ARGUMENT: the image is too small
  // for the op.
  virtual absl::StatusOr<transform::Drawn> Draw(
      transform::ImageExtent /*extent*/, transform::Draws& /*draws*/) const {
    return transform::Drawn();
  }
  // Changes the target by the choices that Draw made for it.
  virtual absl::Status Apply(const transform::Drawn& drawn,
                             OpTarget& target) const = 0;

  // Whether the image may show the op's fill.
  virtual bool may_show_fill() const { return false; }
  // Returns numbers that identify the op's effect among all ops, for an op that
  // may be part of a prefix (prefix.h): first the number of its field in
  // proto::Op. Empty if the op may not be part of a prefix.
  virtual std::vector<std::int64_t> prefix_key() const { return {}; }
  // Whether the op, as the first one, makes a prefix worth its memory.
  virtual bool may_begin_prefix() const { return false; }
};

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_SERVER_PIPELINE_IMAGE_IMAGE_OP_H_
