#ifndef FOREBAY_SERVER_PIPELINE_NDARRAY_ELEMENT_STEPS_H_
#define FOREBAY_SERVER_PIPELINE_NDARRAY_ELEMENT_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "proto/shm_layout.h"

namespace forebay::pipeline::ndarray {

// The steps that change each element of an array: casts, and normalising in the
// element's own precision. Equal elements give equal bytes on every CPU.
//
// Not thread-safe while steps are added; immutable and thread-safe afterwards.
// Owns its steps. Never blocks. The only error is INVALID_ARGUMENT; its message
// has the reason, without the op's name.
class ElementSteps {
 public:
  explicit ElementSteps(proto::DType dtype) : from_(dtype), to_(dtype) {}

  bool empty() const { return steps_.empty(); }
  // Whether a step's effect on an element depends on the element's index.
  bool use_index() const { return use_index_; }
  // Returns the type of the elements behind the last step.
  proto::DType dtype() const { return to_; }

  // Adds a cast that does what torchvision's ToDtype does. With `scale`,
  // integers that become floating point are divided by the largest number of
  // their type.
  absl::Status AddCast(proto::DType dtype, bool scale);
  // Adds the step (x - mean) / std. mean and std are either one value for all
  // elements, or `length` values, one for each index along axis number `axis`.
  absl::Status AddNormalize(const proto::Normalize& op,
                            std::optional<std::size_t> axis,
                            std::uint64_t length);

  // Takes `count` elements through the steps, and writes the results to `out`,
  // one behind the other. The elements follow each other along the last axis;
  // the first lies at `data`, and they are `stride` bytes apart. If `data` is
  // null, all elements are 0. `index` is the first element's index, with a
  // number for each axis.
  void Run(const std::uint8_t* data, std::int64_t stride, std::uint64_t count,
           absl::Span<const std::uint64_t> index, std::uint8_t* out) const;

 private:
  // A change of type.
  struct Cast {
    proto::DType from;
    proto::DType to;
    // Number by which the result is divided; 1 if the cast does not scale.
    double divisor;
  };
  // The subtraction of a mean, and the division by a standard deviation.
  struct Normalize {
    proto::DType dtype;
    std::vector<double> mean;
    std::vector<double> std;
    // Number of the axis along which the values change, if there are several
    // values.
    std::size_t axis;
  };
  using Step = std::variant<Cast, Normalize>;

  // Apply one step to `count` elements. A cast reads `in` and writes to `out`.
  // Normalising changes `values` in place; `index` is the first element's
  // index.
  static void Do(const Cast& step, std::uint64_t count, const std::uint8_t* in,
                 std::uint8_t* out);
  static void Do(const Normalize& step, std::uint64_t count,
                 absl::Span<const std::uint64_t> index, std::uint8_t* values);

  proto::DType from_;
  proto::DType to_;
  std::vector<Step> steps_;
  bool use_index_ = false;
};

}  // namespace forebay::pipeline::ndarray

#endif  // FOREBAY_SERVER_PIPELINE_NDARRAY_ELEMENT_STEPS_H_
