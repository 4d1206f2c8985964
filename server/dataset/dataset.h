#ifndef FOREBAY_SERVER_DATASET_DATASET_H_
#define FOREBAY_SERVER_DATASET_DATASET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// What an array is of.
struct ArrayType {
  proto::DType dtype = proto::DType::kUint8;
  std::vector<std::uint64_t> shape;  // of one sample

  bool operator==(const ArrayType&) const = default;
};

// What every sample of a dataset has.
struct Field {
  std::string name;  // shorter than proto::kMaxFieldName
  // What it means, and so how its bytes are read; kSampleId is none.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Bytes of the longest that a sample has.
  std::uint64_t longest = 0;
  // Of arrays whose bytes are their elements and nothing else, in C order: what
  // they are. Others are .npy files, which say it themselves.
  std::optional<ArrayType> array = {};
};

// The most fields that a dataset has: a batch has its samples' numbers too.
inline constexpr std::size_t kMaxDatasetFields = proto::kMaxFields - 1;

// Bytes of a sample's extent.
struct FieldRange {
  std::uint64_t offset = 0;  // from the extent's begin; bytes
  std::uint64_t length = 0;  // bytes
};

// What a sample has of a field: bytes to be read and then decoded, or what the
// index knows already: an integer, or a text that lives as long as the dataset.
using FieldValue = std::variant<FieldRange, std::int64_t, std::string_view>;

// Where a sample's bytes lie: all that is read of it.
struct Sample {
  std::string object;
  storage::ObjectVersion version;
  std::shared_ptr<const storage::ObjectLayout> layout;  // as a ReadRequest's
  std::uint64_t offset = 0;                             // bytes
  std::uint64_t length = 0;                             // bytes
};

// Which sample it is of the dataset that it comes from.
struct SourceSample {
  std::size_t source = 0;  // among Dataset::sources()
  std::uint64_t id = 0;    // in that
};

// A fixed, versioned set of samples, by number. Immutable and thread-safe;
// shared by all jobs that read it. Nothing here blocks or fails: building is
// what may.
//
// One may be made of others, some of whose samples it has. Caches know a sample
// by the dataset that it comes from, so that all share what they keep of it.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t size() const = 0;
  // At least one, at most kMaxDatasetFields.
  virtual const std::vector<Field>& fields() const = 0;
  // In those below that take an `id`, it is less than size().
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
  // Which index says where its samples lie. Of one version there may be several
  // at a time: of files that were replaced since, with equal times. Null: the
  // version says all.
  virtual const void* index() const;
  // Below which its samples lie. Of one that is made of others, the first
  // one's: where each sample lies, its source says.
  virtual const std::shared_ptr<const storage::Root>& root() const = 0;
  // For people: where it lies.
  virtual std::string uri() const;

  // The datasets that its samples come from: itself, if it is made of no
  // others. They live as long as it does.
  virtual std::vector<const Dataset*> sources() const;
  virtual SourceSample SourceSampleOf(std::uint64_t id) const;
  // Adds the numbers of all of its samples that are that one, in any order.
  virtual void FindSamples(const SourceSample& sample,
                           std::vector<std::uint64_t>* ids) const;
};

inline std::string Dataset::NameOf(std::uint64_t) const { return {}; }
inline const void* Dataset::index() const { return nullptr; }
inline std::string Dataset::uri() const { return root()->uri(); }
inline std::vector<const Dataset*> Dataset::sources() const { return {this}; }
inline SourceSample Dataset::SourceSampleOf(std::uint64_t id) const {
  return {0, id};
}
inline void Dataset::FindSamples(const SourceSample& sample,
                                 std::vector<std::uint64_t>* ids) const {
  ids->push_back(sample.id);
}

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_DATASET_H_
