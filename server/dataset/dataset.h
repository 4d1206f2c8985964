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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset {

// 16 bytes that change when any sample's name, size, time or label does.
using Version = std::array<std::uint8_t, 16>;

// The elements of an array.
struct ArrayType {
  proto::DType dtype = proto::DType::kUint8;
  std::vector<std::uint64_t> shape;  // of one sample

  bool operator==(const ArrayType&) const = default;
};

// Bytes of one. Its size does not overflow.
inline std::uint64_t BytesOf(const ArrayType& type) {
  std::uint64_t bytes = proto::SizeOf(type.dtype);
  for (const std::uint64_t extent : type.shape) bytes *= extent;
  return bytes;
}

// A field that every sample of a dataset has.
struct Field {
  std::string name;  // see IsFieldName
  // Says how its bytes are decoded; never kSampleId.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Bytes of the longest value that a sample has.
  std::uint64_t longest = 0;
  // The type of arrays whose bytes are their elements alone, in C order. Other
  // arrays are .npy files, which say their type themselves.
  std::optional<ArrayType> array = {};
  // Whether it lies on the host even for loaders on GPUs.
  bool on_host = false;
  // Bytes of the shortest value, of .npy files.
  std::uint64_t shortest = 0;
  // Whether a value is any number of such arrays, one behind the other: `array`
  // is what it has at each index of its first axis.
  bool has_rows = false;
  // The names that its part of a sample may have, as they were asked for.
  // Empty: all samples have it by one name.
  std::string alternatives = {};

  // Whether its arrays may differ in length: of one writer, .npy files of one
  // type and shape have equal sizes.
  bool ragged() const {
    return kind == proto::FieldKind::kArray &&
           (has_rows || (!array.has_value() && shortest < longest));
  }
};

// A batch has one field more: its samples' numbers.
inline constexpr std::size_t kMaxDatasetFields = proto::kMaxFields - 1;

// Whether a field may have that name.
inline bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() < proto::kMaxFieldName &&
         name.find('\0') == name.npos;
}

// The bytes of a field within its sample's extent.
struct FieldRange {
  std::uint64_t offset = 0;  // from the extent's start; bytes
  std::uint64_t length = 0;  // bytes
};

// Bytes that were made of a sample's own, such as numbers that it packs.
struct MadeBytes {
  absl::Span<const std::uint8_t> bytes;
};

// An image's or a clip's bytes are made of these, by Unpack, if somebody wants
// them.
struct PackedRange {
  FieldRange range;
};

// A sample's value of a field: bytes to be read and decoded, or a value that
// the index knows. That is an integer, or a text that lives as long as the
// dataset. Or bytes that ReadValues has made, or that Unpack makes.
using FieldValue = std::variant<FieldRange, std::int64_t, std::string_view,
                                MadeBytes, PackedRange>;

// Gives Unpack room for so many bytes, or says why there is none.
using UnpackRoom =
    absl::FunctionRef<absl::StatusOr<absl::Span<std::uint8_t>>(std::uint64_t)>;

// Keeps the bytes that are made of one sample's. Not thread-safe; owns them;
// never blocks.
class MadeValues {
 public:
  MadeValues() = default;
  // AddUnpacked uses `room`, which is there as long as it is asked.
  explicit MadeValues(const UnpackRoom* room) : room_(room) {}

  // Returns room for so many, which lives as long as this, and is aligned for
  // any number.
  absl::Span<std::uint8_t> Add(std::size_t bytes) {
    auto& made = made_.emplace_back(std::make_unique<std::uint8_t[]>(bytes));
    bytes_ += bytes;
    return {made.get(), bytes};
  }
  // Returns room to unpack a sample into, which is asked for once at most. It
  // lives until an image is decoded. Errors: those of the room.
  absl::StatusOr<absl::Span<std::uint8_t>> AddUnpacked(std::uint64_t bytes) {
    if (room_ != nullptr) return (*room_)(bytes);
    return Add(bytes);
  }
  // Bytes of all rooms that it owns.
  std::uint64_t bytes() const { return bytes_; }

 private:
  const UnpackRoom* room_ = nullptr;
  std::vector<std::unique_ptr<std::uint8_t[]>> made_;
  std::uint64_t bytes_ = 0;
};

// Where a sample's bytes lie. A sample is read as one extent.
struct Sample {
  std::string object;
  storage::ObjectVersion version;
  std::shared_ptr<const storage::ObjectLayout> layout;  // as a ReadRequest's
  std::uint64_t offset = 0;                             // bytes
  std::uint64_t length = 0;                             // bytes
};

// A sample, by the dataset that it comes from.
struct SourceSample {
  std::size_t source = 0;  // index into Dataset::sources()
  std::uint64_t id = 0;    // in that dataset
};

// A fixed, versioned set of samples, by number. A dataset may be made of others
// and have some of their samples. Caches know a sample by the dataset that it
// comes from, so that all such datasets share what is cached of it.
//
// Immutable and thread-safe; shared by all jobs that read it. Never blocks and,
// but for ReadValues and Unpack, has no errors; only building a dataset may
// block or fail.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t size() const = 0;
  // At least one, at most kMaxDatasetFields.
  virtual const std::vector<Field>& fields() const = 0;
  // In all calls below, `id` is less than size().
  virtual Sample At(std::uint64_t id) const = 0;
  // Fills `values`, fields().size() long, with what the sample has of each.
  // Not to be called if is_self_describing().
  virtual void ValuesOf(std::uint64_t id,
                        absl::Span<FieldValue> values) const = 0;
  // Whether a sample's bytes alone say what it has of each field.
  virtual bool is_self_describing() const { return false; }
  // As ValuesOf. `read` is all that was read of the sample, and `made` gets
  // what is made of that; values point into both. DATA_LOSS: the sample is
  // damaged, or lacks a field that others have; INVALID_ARGUMENT: it has
  // another type of a field. Errors give the reason alone.
  virtual absl::Status ReadValues(std::uint64_t id,
                                  absl::Span<const std::uint8_t> read,
                                  absl::Span<FieldValue> values,
                                  MadeValues* made) const;
  // Returns the image of which the sample has `packed`, the bytes of a
  // PackedRange. It is a part of `packed`, or all of the room, which is asked
  // for once at most. Errors give the reason alone: DATA_LOSS: it is damaged;
  // that of `room`. Only to be called where a value is such a range.
  virtual absl::StatusOr<absl::Span<const std::uint8_t>> Unpack(
      std::uint64_t id, absl::Span<const std::uint8_t> packed,
      UnpackRoom room) const;
  // Fills `bytes`, fields().size() long, with as many as the sample's values
  // have at most, as far as the index knows: no more than their `longest`. An
  // image and a number count as 0.
  virtual void MostBytesOf(std::uint64_t id,
                           absl::Span<std::uint64_t> bytes) const;
  // Bytes of the sample without others in its extent, unpacked.
  virtual std::uint64_t SizeOf(std::uint64_t id) const { return At(id).length; }
  // Whether several samples may have one extent. Then caches cannot tell apart
  // what is made of them.
  virtual bool shares_extents() const { return false; }
  // Whether its samples are made by producers, and have no bytes to read.
  virtual bool is_produced() const { return false; }
  // Then: if not 0, sample number k is made by producer k % lanes().
  virtual std::uint32_t lanes() const { return 0; }
  // Whether each sample can be made once only, in their order.
  virtual bool is_live() const { return false; }
  // For people: the sample's name within its object. Empty if the object has no
  // other samples.
  virtual std::string NameOf(std::uint64_t id) const;
  // Bytes of the largest sample.
  virtual std::uint64_t largest_sample() const = 0;
  // Names by label.
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const Version& version() const = 0;
  // Identifies the index that says where its samples lie. One version may have
  // several indexes at a time, if files were replaced with equal times. Null if
  // the version alone tells datasets apart.
  virtual const void* index() const;
  // The root of its samples. If it is made of others, that of the first: the
  // sources say where each sample lies.
  virtual const std::shared_ptr<const storage::Root>& root() const = 0;
  // For people.
  virtual std::string uri() const;

  // The datasets that its samples come from, which live as long as it does. If
  // it is made of no others, that is the dataset itself.
  virtual std::vector<const Dataset*> sources() const;
  virtual SourceSample SourceSampleOf(std::uint64_t id) const;
  // Adds the numbers that this sample has here, in any order.
  virtual void FindSamples(const SourceSample& sample,
                           std::vector<std::uint64_t>* ids) const;
};

inline absl::Status Dataset::ReadValues(std::uint64_t id,
                                        absl::Span<const std::uint8_t>,
                                        absl::Span<FieldValue> values,
                                        MadeValues*) const {
  ValuesOf(id, values);
  return absl::OkStatus();
}
inline void Dataset::MostBytesOf(std::uint64_t id,
                                 absl::Span<std::uint64_t> bytes) const {
  std::array<FieldValue, kMaxDatasetFields> values;
  const std::vector<Field>& all = fields();
  const bool is_known = !is_self_describing() && !is_produced();
  if (is_known) ValuesOf(id, absl::MakeSpan(values.data(), all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    bytes[i] = all[i].longest;
    const auto* const range = std::get_if<FieldRange>(&values[i]);
    const auto* const text = std::get_if<std::string_view>(&values[i]);
    if (all[i].kind == proto::FieldKind::kImage ||
        all[i].kind == proto::FieldKind::kLabel) {
      bytes[i] = 0;
    } else if (is_known && range != nullptr) {
      bytes[i] = range->length < bytes[i] ? range->length : bytes[i];
    } else if (is_known && text != nullptr) {
      bytes[i] = text->size() < bytes[i] ? text->size() : bytes[i];
    }
  }
}
inline absl::StatusOr<absl::Span<const std::uint8_t>> Dataset::Unpack(
    std::uint64_t, absl::Span<const std::uint8_t>, UnpackRoom) const {
  return absl::InternalError("has nothing that is packed");
}
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
