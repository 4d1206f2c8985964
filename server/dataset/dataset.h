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

// A dataset's version: 16 bytes that change when the name, size, time or label
// of any sample changes.
using Version = std::array<std::uint8_t, 16>;

// The type of an array: the type of its elements, and its shape.
struct ArrayType {
  proto::DType dtype = proto::DType::kUint8;
  std::vector<std::uint64_t> shape;  // shape of one sample's array

  bool operator==(const ArrayType&) const = default;
};

// Returns the size in bytes of an array of the type `type`. The size must not
// overflow 64 bits.
inline std::uint64_t BytesOf(const ArrayType& type) {
  std::uint64_t bytes = proto::SizeOf(type.dtype);
  for (const std::uint64_t extent : type.shape) bytes *= extent;
  return bytes;
}

// A field that every sample of a dataset has.
struct Field {
  std::string name;  // IsFieldName(name) is true
  // The kind says how the field's bytes are decoded. It is never kSampleId.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Length in bytes of the longest value that any sample has.
  std::uint64_t longest = 0;
  // The type of the field's arrays, if their bytes are only the elements, in C
  // order. If unset, each array is a .npy file, whose header states its type.
  std::optional<ArrayType> array = {};
  // Whether batches have the field in host memory, even for loaders on GPUs.
  bool on_host = false;
  // Length in bytes of the shortest value. Used only for .npy files, by
  // ragged().
  std::uint64_t shortest = 0;
  // Whether a value is an array of any number of rows. A row is an array of the
  // type `array`: the part of the value at one index of its first axis.
  bool has_rows = false;
  // In tar shards, the extensions that the field's files may have, as the user
  // wrote them, such as "jpg;png". Empty if there is only one extension.
  std::string alternatives = {};

  // Whether the field's arrays may differ in length. If `array` is unset, the
  // arrays are .npy files. These differ in length if their sizes differ.
  bool ragged() const {
    return kind == proto::FieldKind::kArray &&
           (has_rows || (!array.has_value() && shortest < longest));
  }
};

// The most fields of a dataset. A batch has one field more: the samples'
// numbers.
inline constexpr std::size_t kMaxDatasetFields = proto::kMaxFields - 1;

// Whether a field may have the name `name`.
inline bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() < proto::kMaxFieldName &&
         name.find('\0') == name.npos;
}

// The bytes of a field within its sample's extent.
struct FieldRange {
  std::uint64_t offset = 0;  // bytes from the extent's start
  std::uint64_t length = 0;  // bytes
};

// Bytes that were computed from a sample's bytes, such as decompressed numbers.
struct ComputedBytes {
  absl::Span<const std::uint8_t> bytes;
};

// The compressed bytes of an image or a clip, within the sample's extent.
// Dataset::Decompress decompresses them if a reader wants them.
struct CompressedRange {
  FieldRange range;
};

// A sample's value of a field. A FieldRange says where in the sample's extent
// the bytes lie from which the value is decoded. An integer or a text is the
// value itself, from the index; the text lives as long as the dataset.
// ReadValues makes ComputedBytes. Decompress decompresses a CompressedRange.
using FieldValue = std::variant<FieldRange, std::int64_t, std::string_view,
                                ComputedBytes, CompressedRange>;

// A function that returns a buffer of the given number of bytes for Decompress,
// or an error if there is no room for the buffer.
using DecompressionRoom =
    absl::FunctionRef<absl::StatusOr<absl::Span<std::uint8_t>>(std::uint64_t)>;

// Keeps the bytes that are computed from one sample's bytes.
//
// Not thread-safe. Owns the buffers that Add returns. Never blocks. Only
// AddDecompressed has errors: those of the DecompressionRoom.
class ValueBuffers {
 public:
  ValueBuffers() = default;
  // Makes AddDecompressed take its buffer from `room`, which outlives every
  // call of AddDecompressed.
  explicit ValueBuffers(const DecompressionRoom* room) : room_(room) {}

  // Returns a buffer of `bytes` bytes, which lives as long as this object and
  // is aligned for any number.
  absl::Span<std::uint8_t> Add(std::size_t bytes) {
    auto& buffer =
        buffers_.emplace_back(std::make_unique<std::uint8_t[]>(bytes));
    bytes_ += bytes;
    return {buffer.get(), bytes};
  }
  // Returns a buffer of `bytes` bytes to decompress a sample into. To be called
  // at most once. The buffer lives until an image is decoded, since decoding
  // uses the same memory. Errors: those of the DecompressionRoom.
  absl::StatusOr<absl::Span<std::uint8_t>> AddDecompressed(
      std::uint64_t bytes) {
    if (room_ != nullptr) return (*room_)(bytes);
    return Add(bytes);
  }
  // Returns the number of bytes of all buffers that this object owns.
  std::uint64_t bytes() const { return bytes_; }

 private:
  const DecompressionRoom* room_ = nullptr;
  std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;
  std::uint64_t bytes_ = 0;
};

// The place of a sample's bytes. A sample is read as one extent.
struct Sample {
  std::string object;
  storage::ObjectVersion version;
  std::shared_ptr<const storage::ObjectLayout> layout;  // see ReadRequest
  std::uint64_t offset = 0;                             // bytes
  std::uint64_t length = 0;                             // bytes
};

// A sample, identified by the dataset that it comes from and its number in that
// dataset.
struct SourceSample {
  std::size_t source = 0;  // index into Dataset::sources()
  std::uint64_t id = 0;    // the sample's number in that dataset
};

// A fixed, versioned set of samples, numbered from 0. A dataset may be composed
// of other datasets, and have all or some of their samples. Caches identify a
// sample by the dataset that it comes from and its number there. So all
// datasets that have the sample share its cached bytes.
//
// Immutable and thread-safe. Shared by all jobs that read it. Never blocks.
// Only ReadValues and Decompress have errors; building a dataset may block or
// fail.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Returns the number of samples.
  virtual std::uint64_t size() const = 0;
  // Returns the fields: at least one, at most kMaxDatasetFields.
  virtual const std::vector<Field>& fields() const = 0;
  // Returns where a sample's bytes lie. In all calls below, `id` is less than
  // size().
  virtual Sample At(std::uint64_t id) const = 0;
  // Fills `values` with the sample's value of each field. `values` has
  // fields().size() items. Must not be called if is_self_describing().
  virtual void ValuesOf(std::uint64_t id,
                        absl::Span<FieldValue> values) const = 0;
  // Whether a sample's fields are found only in its bytes. If so, ReadValues
  // finds them.
  virtual bool is_self_describing() const { return false; }
  // Fills `values` as ValuesOf does, but from `read`, the bytes of the sample's
  // whole extent. `buffers` keeps bytes that are computed from `read`. The
  // values point into `read` and `buffers`. Errors give the reason alone.
  // DATA_LOSS: the sample is damaged, or lacks a field that others have.
  // INVALID_ARGUMENT: the sample's value of a field has another type than the
  // field.
  virtual absl::Status ReadValues(std::uint64_t id,
                                  absl::Span<const std::uint8_t> read,
                                  absl::Span<FieldValue> values,
                                  ValueBuffers* buffers) const;
  // Returns the bytes of an image or clip whose value is a CompressedRange.
  // `compressed` has the bytes of that range. The result is a part of
  // `compressed`, or the whole buffer that `room` returned. Calls `room` at
  // most once. Errors do not name the sample. DATA_LOSS: `compressed` is
  // damaged. Others: those of `room`.
  virtual absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t id, absl::Span<const std::uint8_t> compressed,
      DecompressionRoom room) const;
  // Fills `bytes`, which has fields().size() items, with an upper bound of each
  // value's bytes. The bound is the value's length if the index knows it, and
  // otherwise the field's `longest`. For images and integers it is 0.
  virtual void MostBytesOf(std::uint64_t id,
                           absl::Span<std::uint64_t> bytes) const;
  // Returns the number of the sample's bytes after decompression, without the
  // bytes of other samples in its extent.
  virtual std::uint64_t SizeOf(std::uint64_t id) const { return At(id).length; }
  // Whether several samples may have the same extent. If so, caches cannot tell
  // the decoded images of these samples apart.
  virtual bool shares_extents() const { return false; }
  // Whether workers make the samples, so that they have no bytes to read.
  virtual bool is_produced() const { return false; }
  // Returns the number of workers among which the samples are divided: worker k
  // % affinity_workers() makes sample k. Returns 0 if any worker may make any
  // sample.
  virtual std::uint32_t affinity_workers() const { return 0; }
  // Whether each sample can be made only once, and only in the order of the
  // samples' numbers.
  virtual bool is_live() const { return false; }
  // Returns the sample's name within its object, for messages. Empty if the
  // object has no other samples.
  virtual std::string NameOf(std::uint64_t id) const;
  // Returns the size of the largest sample in bytes.
  virtual std::uint64_t largest_sample() const = 0;
  // Returns the names of the classes, by label.
  virtual const std::vector<std::string>& classes() const = 0;
  // Returns the dataset's version, which all datasets of equal contents share.
  virtual const Version& version() const = 0;
  // Returns a pointer that identifies the index, which says where the samples
  // lie. Two datasets of the same version have different indexes if files were
  // replaced by others of the same sizes and times. Returns null if the version
  // alone tells datasets apart.
  virtual const void* index() const;
  // Returns the root of the samples. A composed dataset returns the root of its
  // first source; the roots of sources() say where each sample lies.
  virtual const std::shared_ptr<const storage::Root>& root() const = 0;
  // Returns the dataset's URI, for messages.
  virtual std::string uri() const;

  // Returns the datasets that the samples come from. They live as long as this
  // dataset. A dataset that is not composed of others returns itself.
  virtual std::vector<const Dataset*> sources() const;
  // Returns the source of sample `id`, and the sample's number in that source.
  virtual SourceSample SourceSampleOf(std::uint64_t id) const;
  // Appends to `ids`, in any order, all numbers that the source sample `sample`
  // has in this dataset.
  virtual void FindSamples(const SourceSample& sample,
                           std::vector<std::uint64_t>* ids) const;
};

inline absl::Status Dataset::ReadValues(std::uint64_t id,
                                        absl::Span<const std::uint8_t>,
                                        absl::Span<FieldValue> values,
                                        ValueBuffers*) const {
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
inline absl::StatusOr<absl::Span<const std::uint8_t>> Dataset::Decompress(
    std::uint64_t, absl::Span<const std::uint8_t>, DecompressionRoom) const {
  return absl::InternalError("has nothing that is compressed");
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
