#ifndef FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_
#define FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/shm_layout.h"
#include "server/dataset/hdf5/byte_cursor.h"

namespace forebay::dataset::hdf5 {

struct CompoundMember;

// The end of a text that is shorter than its fixed size. kTerminated: a NUL
// ends the text. kZeros, kSpaces: NULs or spaces fill the remaining bytes.
enum class TextPadding : std::uint8_t { kTerminated, kZeros, kSpaces };

// The type of a dataset's elements, read from a Datatype message (HDF5 File
// Format Specification v3.0 IV.A.2.d).
struct ElementType {
  enum class Kind {
    kNumber,        // one number, or an array of numbers
    kText,          // a text of a fixed size
    kBytes,         // opaque bytes of a fixed size
    kVariableText,  // a reference to a text in a global heap
    kSequence,      // a reference to a sequence in a global heap
    kCompound,
    kOther,  // a type that cannot be read
  };
  Kind kind = Kind::kOther;
  // Bytes of one element in the file; at least 1.
  std::uint64_t size = 0;
  // Type and byte order of a number, or of the numbers in a sequence.
  proto::DType dtype = proto::DType::kUint8;
  bool big_endian = false;
  // Extents of an element that is itself an array of numbers. Empty for all
  // other elements.
  std::vector<std::uint64_t> shape;
  // Padding of a kText.
  TextPadding padding = TextPadding::kZeros;
  // Members of a kCompound.
  std::vector<CompoundMember> members;
  // Name of the type in messages to people.
  std::string description;

  // Whether an element is a reference to a value of any length in a global
  // heap.
  bool is_variable() const {
    return kind == Kind::kVariableText || kind == Kind::kSequence;
  }
};

// A member of a compound, which is a struct in C.
struct CompoundMember {
  std::string name;
  // Offset in bytes within the compound.
  std::uint64_t offset = 0;
  ElementType type;
};

// Returns the size in bytes of a reference to a value of any length. A
// reference is the number of elements (4 bytes) and a Global Heap ID. The ID is
// the address of a heap, and the number of an object in that heap (4 bytes).
inline std::uint64_t ReferenceBytes(const Widths& widths) {
  return 4 + widths.address + 4;
}

// Reads a Datatype message. A type that cannot be read becomes kOther, and its
// `description` names it. DATA_LOSS: the message is damaged. The error gives
// the reason alone. Thread-safe; owns nothing; never blocks.
absl::StatusOr<ElementType> ParseElementType(Bytes message);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ELEMENT_TYPE_H_
