#ifndef FOREBAY_SERVER_PIPELINE_ELEMENT_STEPS_H_
#define FOREBAY_SERVER_PIPELINE_ELEMENT_STEPS_H_

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

namespace forebay::pipeline {

// The work on each element of an array: it is cast, and normalised in its own
// precision. Equal elements give equal bytes on every CPU. Immutable and
// thread-safe once all is added; never blocks. Errors: INVALID_ARGUMENT, which
// gives the reason without the op's name.
class ElementSteps {
 public:
  explicit ElementSteps(proto::DType dtype) : from_(dtype), to_(dtype) {}

  bool empty() const { return steps_.empty(); }
  // Whether what is done to an element depends on its place.
  bool use_index() const { return use_index_; }
  // Of the elements that come out.
  proto::DType dtype() const { return to_; }

  // As torchvision's ToDtype: with `scale`, integers are divided by the largest
  // one of their type.
  absl::Status AddCast(proto::DType dtype, bool scale);
  // (x - mean) / std. Both have one value, or `length` values, for the elements
  // of axis number `axis`.
  absl::Status AddNormalize(const proto::Normalize& op,
                            std::optional<std::size_t> axis,
                            std::uint64_t length);

  // Takes `count` elements that lie `stride` bytes apart along the last axis,
  // or zeros if `data` is null. They begin at `index`, of which each number is
  // a place in one axis. Writes the elements that come out, one behind the
  // other.
  void Run(const std::uint8_t* data, std::int64_t stride, std::uint64_t count,
           absl::Span<const std::uint64_t> index, std::uint8_t* out) const;

 private:
  struct Cast {
    proto::DType from;
    proto::DType to;
    double divisor;  // 1: none
  };
  struct Normalize {
    proto::DType dtype;
    std::vector<double> mean;
    std::vector<double> std;
    std::size_t axis;  // if there are several values
  };
  using Step = std::variant<Cast, Normalize>;

  static void Do(const Cast& step, std::uint64_t count, const std::uint8_t* in,
                 std::uint8_t* out);
  static void Do(const Normalize& step, std::uint64_t count,
                 absl::Span<const std::uint64_t> index, std::uint8_t* values);

  const proto::DType from_;
  proto::DType to_;
  std::vector<Step> steps_;
  bool use_index_ = false;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ELEMENT_STEPS_H_
