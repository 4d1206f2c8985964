#ifndef FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// Reads tf.train.Example and tf.train.SequenceExample, which are protocol
// buffers (tensorflow/core/example/example.proto, feature.proto), as bytes: no
// value is copied before it is asked for. All of a record is a stranger's.
// Functions are thread-safe and never block; their errors give the reason
// alone.

namespace forebay::dataset::tfrecord {

// The type of a feature's values.
enum class ValueKind { kNone, kBytes, kFloat, kInt64 };

// For people, as TensorFlow says it: "bytes".
std::string_view NameOf(ValueKind kind);

// A feature, or, in a SequenceExample, a list of them. Points into the record.
struct Feature {
  std::string_view name;
  bool is_list = false;
  absl::Span<const std::uint8_t> message;
};

// Calls `each` for all features of an Example or SequenceExample, in the order
// in which they stand there. If a name comes twice, the last one counts.
// DATA_LOSS: it is neither.
absl::Status ReadFeatures(absl::Span<const std::uint8_t> example,
                          const std::function<void(const Feature&)>& each);

// The values of a feature, or those of all steps of a list, one behind the
// other. Point into the record.
class FeatureValues {
 public:
  FeatureValues() = default;
  // DATA_LOSS: the feature is malformed; INVALID_ARGUMENT: the steps of a list
  // have values of several kinds.
  static absl::StatusOr<FeatureValues> Read(const Feature& feature);

  ValueKind kind() const { return kind_; }
  std::uint64_t count() const { return count_; }
  // Of a list. Values a step: 0 if there are no steps, or they differ in that.
  std::uint64_t count_each() const { return count_each_; }
  // The last one of kind kBytes.
  absl::Span<const std::uint8_t> last_bytes() const { return last_bytes_; }

  // The only value, of kind kInt64.
  std::int64_t integer() const;
  // Bytes of all values, of kind kFloat or kInt64, as little-endian float32 and
  // int64.
  std::uint64_t number_bytes() const;
  // Writes them; `out` has that size.
  void CopyNumbers(absl::Span<std::uint8_t> out) const;

 private:
  explicit FeatureValues(const Feature& feature) : feature_(feature) {}

  void Count(absl::Span<const std::uint8_t> list);

  // A record may have as many values as bytes: they are found again, not kept.
  Feature feature_;
  ValueKind kind_ = ValueKind::kNone;
  std::uint64_t count_ = 0;
  std::uint64_t count_each_ = 0;
  absl::Span<const std::uint8_t> last_bytes_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_
