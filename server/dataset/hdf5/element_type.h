#ifndef FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_
#define FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/shm_layout.h"
#include "server/dataset/hdf5/cursor.h"

namespace forebay::dataset::hdf5 {

struct Member;

// How a text of fixed size ends before that.
enum class TextPadding : std::uint8_t { kTerminated, kZeros, kSpaces };

// The type of a dataset's elements.
struct ElementType {
  enum class Kind {
    kNumber,        // and arrays of numbers
    kText,          // of a fixed size
    kBytes,         // of a fixed size
    kVariableText,  // a reference into a global heap
    kSequence,      // likewise
    kCompound,
    kOther,  // cannot be read
  };
  Kind kind = Kind::kOther;
  std::uint64_t size = 0;  // bytes of one element; at least 1
  // Of numbers, and of those of which a sequence is made.
  proto::DType dtype = proto::DType::kUint8;
  bool big_endian = false;
  std::vector<std::uint64_t> shape;           // of an array that is one element
  TextPadding padding = TextPadding::kZeros;  // of kText
  std::vector<Member> members;                // of a compound
  std::string description;                    // for people

  // Whether an element is a reference to a value of any length.
  bool is_variable() const {
    return kind == Kind::kVariableText || kind == Kind::kSequence;
  }
};

struct Member {
  std::string name;
  std::uint64_t offset = 0;  // in the compound; bytes
  ElementType type;
};

// Bytes of a reference: a length, the address of a heap, and a number in it.
inline std::uint64_t ReferenceBytes(const Widths& widths) {
  return 4 + widths.address + 4;
}

// Reads a datatype message. What cannot be read is kOther, and says so.
// DATA_LOSS: the message is damaged. The error gives the reason alone.
// Thread-safe; never blocks.
absl::StatusOr<ElementType> ParseElementType(Bytes message);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_
