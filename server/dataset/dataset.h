#ifndef FOREBAY_SERVER_DATASET_DATASET_H_
#define FOREBAY_SERVER_DATASET_DATASET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset {

// 16 bytes that change when any sample's name, size, time or label does.
using Version = std::array<std::uint8_t, 16>;

// What every sample of a dataset has.
struct Field {
  std::string name;  // shorter than proto::kMaxFieldName
  // What it means, and so how its bytes are read; kSampleId is none.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Bytes of the longest that a sample has.
  std::uint64_t longest = 0;
};

// The most fields that a dataset has: a batch has its samples' numbers too.
inline constexpr std::size_t kMostFields = proto::kMaxFields - 1;

// Bytes of a sample's extent.
struct Part {
  std::uint64_t offset = 0;  // from the extent's begin; bytes
  std::uint64_t length = 0;  // bytes
};

// What a sample has of a field: bytes to be read and then decoded, or what the
// index knows already: an integer, or a text that lives as long as the dataset.
using FieldValue = std::variant<Part, std::int64_t, std::string_view>;

// Where a sample's bytes lie: all that is read of it.
struct Sample {
  std::string object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

// A fixed, versioned set of samples, by number. Immutable and thread-safe;
// shared by all jobs that read it. Nothing here blocks or fails: building is
// what may.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t size() const = 0;
  // At least one, at most kMostFields.
  virtual const std::vector<Field>& fields() const = 0;
  // In the three below, `id` is less than size().
  virtual Sample At(std::uint64_t id) const = 0;
  // What the sample has of each field: fills `values`, fields().size() long.
  virtual void ValuesOf(std::uint64_t id,
                        absl::Span<FieldValue> values) const = 0;
  // For people: what the sample is called in its object, where that has others
  // too; else empty.
  virtual std::string NameOf(std::uint64_t id) const;
  // Bytes of the largest sample.
  virtual std::uint64_t largest_sample() const = 0;
  // Names by label.
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const Version& version() const = 0;
  virtual const std::shared_ptr<const storage::Root>& root() const = 0;
};

inline std::string Dataset::NameOf(std::uint64_t) const { return {}; }

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_DATASET_H_
