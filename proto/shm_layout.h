#ifndef FOREBAY_PROTO_SHM_LAYOUT_H_
#define FOREBAY_PROTO_SHM_LAYOUT_H_

// The layout of a slot: a header page that describes the batch, then the
// fields' data. Only the daemon and its workers write a slot. The slot
// describes itself, so that any client of the same kLayoutVersion can read it
// without asking. Offsets count from the slot's first byte. A slot for trainers
// on a GPU has a device part, too: memory of that GPU, with the data of some
// fields.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace forebay::proto {

// The version of the session's messages. A daemon accepts clients of this
// version and of the one before. A change that an older side would refuse or
// overlook makes a new version:
//   1  the first
//   2  a greeting may bring a pipe beside the pidfd
//   3  arrays have pipelines, and may differ in length
//   4  a dataset has a kind, a message for each format
inline constexpr std::uint32_t kProtocolVersion = 4;
// The version of all layouts in shared memory: slots and rings. The layouts
// change far more rarely than the messages, because a client of another layout
// cannot read anything.
inline constexpr std::uint32_t kLayoutVersion = 1;

inline constexpr std::uint32_t kBatchMagic = 0x42594246;  // "FBYB"
inline constexpr std::uint32_t kMaxFields = 16;
inline constexpr std::uint32_t kMaxRank = 6;
inline constexpr std::uint32_t kMaxFieldName = 32;
inline constexpr std::uint64_t kSlotHeaderBytes = 4096;
// Each field starts at a multiple of this many bytes.
inline constexpr std::uint64_t kFieldAlignment = 4096;

// The type of an element. The values are those of DataType in dataset.proto.
enum class DType : std::uint32_t {
  kUint8 = 1,
  kFloat16 = 2,
  kBfloat16 = 3,
  kFloat32 = 4,
  kInt64 = 5,
  kFloat64 = 6,
  kInt32 = 7,
  kInt16 = 8,
  kInt8 = 9,
  kBool = 10,  // a byte: 0 or 1
  kUint16 = 11,
  kUint32 = 12,
  kUint64 = 13,
};

// The meaning of a field, which decides the transforms that act on it.
enum class FieldKind : std::uint32_t {
  kImage = 1,
  kLabel = 2,  // an integer
  kSampleId = 3,
  // These three kinds are bytes, whose length differs from sample to sample.
  kText = 4,  // UTF-8
  kJson = 5,  // UTF-8; not parsed
  kBytes = 6,
  // An array: the content of a .npy file, a row of it, or another array. All
  // samples have the same type. Their shapes are equal, or differ only in the
  // first axis.
  kArray = 7,
  // A whole audio file. Batches have the decoded clip instead, which is kArray.
  kAudio = 8,
};

// The memory that has a field's data.
enum class Place : std::uint32_t {
  kHost = 0,    // in the slot's memfd
  kDevice = 1,  // in the slot's device part
};

// Returns the size of an element in bytes; 0 for a value that is not a type.
constexpr std::uint64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kBool:
      return 1;
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kInt16:
    case DType::kUint16:
      return 2;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUint32:
      return 4;
    case DType::kInt64:
    case DType::kFloat64:
    case DType::kUint64:
      return 8;
  }
  return 0;
}

// The description of one field of a batch.
struct FieldLayout {
  char name[kMaxFieldName];  // NUL-terminated
  FieldKind kind;
  DType dtype;
  std::uint32_t rank;  // dimensions in use, the batch's included
  Place place;         // of the field's data; row splits are always in the
                       // memfd
  // The extents. shape[0] is the number of samples. With row splits, it is the
  // number of rows of all samples together, which the row splits divide.
  std::uint64_t shape[kMaxRank];
  std::uint64_t offset;  // bytes, from the first byte of the memory that
                         // `place` names
  std::uint64_t bytes;   // bytes of data
  // The offset of sample_count + 1 int64 row splits, for a field whose length
  // differs from sample to sample. Sample i has the rows from split i to split
  // i + 1. 0 if all samples have the same shape.
  std::uint64_t row_splits_offset;
};

// The description of a batch, at the beginning of its slot.
struct BatchHeader {
  std::uint32_t magic;        // kBatchMagic
  std::uint32_t version;      // kLayoutVersion
  std::uint32_t generation;   // of the slot; equal to that of the ready entry
  std::uint32_t field_count;  // at most kMaxFields
  std::uint64_t sample_count;
  std::uint64_t epoch;
  std::uint64_t
      first_sample;  // position of the first sample in this rank's epoch
  FieldLayout fields[kMaxFields];
};

static_assert(std::is_trivially_copyable_v<BatchHeader> &&
              std::is_standard_layout_v<BatchHeader>);
static_assert(sizeof(FieldLayout) == 120);
static_assert(sizeof(BatchHeader) == 40 + kMaxFields * sizeof(FieldLayout));
static_assert(sizeof(BatchHeader) <= kSlotHeaderBytes);

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_SHM_LAYOUT_H_
