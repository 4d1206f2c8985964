#ifndef FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// Reads tf.train.Example and tf.train.SequenceExample, which are protocol
// buffers (tensorflow/core/example/example.proto and feature.proto). All
// results point into the record's bytes; no value is copied before the caller
// asks for it. Records are untrusted. Functions are thread-safe and never
// block. Their errors do not name the record.

namespace forebay::dataset::tfrecord {

// The type of a feature's values. It tells which list is set in the message
// Feature. kNone means that no list is set.
enum class ValueKind { kNone, kBytes, kFloat, kInt64 };

// Returns TensorFlow's name of the type, such as "bytes", for errors.
std::string_view NameOf(ValueKind kind);

// A feature of an Example, or a feature or a feature list of a SequenceExample.
// Points into the record.
struct Feature {
  std::string_view name;
  bool is_list = false;  // whether `message` is a FeatureList, not a Feature
  absl::Span<const std::uint8_t> message;
};

// Calls `each` for all features of an Example or a SequenceExample, in the
// order in which they are stored. If a name comes twice, the caller should use
// the later feature. DATA_LOSS: `example` is neither message.
absl::Status ReadFeatures(absl::Span<const std::uint8_t> example,
                          const std::function<void(const Feature&)>& each);

// The values of a feature, or the values of all steps of a feature list, in
// order. Immutable after Read; points into the record; never blocks. Only Read
// has errors.
class FeatureValues {
 public:
  FeatureValues() = default;
  // Reads a feature. DATA_LOSS: the feature is malformed. INVALID_ARGUMENT: the
  // steps of a feature list have values of several types.
  static absl::StatusOr<FeatureValues> Read(const Feature& feature);

  ValueKind kind() const { return kind_; }
  // Number of values, in all steps together.
  std::uint64_t count() const { return count_; }
  // Number of values in each step of a feature list. 0 if the list has no
  // steps, or its steps have different numbers of values.
  std::uint64_t count_each() const { return count_each_; }
  // The last value of kind kBytes; empty if there is no such value.
  absl::Span<const std::uint8_t> last_bytes() const { return last_bytes_; }

  // Returns the only value. kind() must be kInt64, and count() 1.
  std::int64_t integer() const;
  // Returns the number of bytes that CopyNumbers writes. kind() must be kFloat
  // or kInt64.
  std::uint64_t number_bytes() const;
  // Writes all values as little-endian float32 or int64. `out` has
  // number_bytes() bytes.
  void CopyNumbers(absl::Span<std::uint8_t> out) const;

 private:
  explicit FeatureValues(const Feature& feature) : feature_(feature) {}

  // Counts the values in a list of kind kind_.
  void Count(absl::Span<const std::uint8_t> list);

  // The feature itself. Its values are not stored, but parsed again on each
  // call: a record may have as many values as bytes.
  Feature feature_;
  ValueKind kind_ = ValueKind::kNone;
  std::uint64_t count_ = 0;
  std::uint64_t count_each_ = 0;
  absl::Span<const std::uint8_t> last_bytes_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_H_
