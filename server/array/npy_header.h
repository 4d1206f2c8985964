#ifndef FOREBAY_SERVER_ARRAY_NPY_HEADER_H_
#define FOREBAY_SERVER_ARRAY_NPY_HEADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

// Parses the headers of .npy files. A header says what the bytes after it mean.
// The format is described in NEP 1, "A Simple File Format for NumPy Arrays",
// and in NumPy's documentation of numpy.lib.format.
//
// Every byte of a header is untrusted. Functions are thread-safe, own nothing
// and never block; their errors give the reason alone, without a file name.

namespace forebay::array {

// The kinds of numbers that items can be. Records, texts, dates and Python
// objects are refused with UNIMPLEMENTED.
enum class NpyKind { kBool, kSigned, kUnsigned, kFloat, kComplex };

// The contents of a header: the type of the items, the array's shape, and where
// the items lie in the file.
struct NpyHeader {
  NpyKind kind = NpyKind::kBool;
  // Bytes of one item: 1, 2, 4, 8 or 16.
  std::uint64_t item_bytes = 0;
  // Whether items are big-endian; false for items of one byte.
  bool big_endian = false;
  // Whether the first index changes fastest (Fortran order) instead of the last
  // one (C order).
  bool fortran_order = false;
  // Extents of the axes, at most 32. An array without axes has exactly one
  // item.
  std::vector<std::uint64_t> shape;
  // Offset in bytes of the first item, which is also the length of the header.
  std::uint64_t data_offset = 0;
  // Bytes of all items together; at most 2^62.
  std::uint64_t data_bytes = 0;
};

// Number of a file's bytes that NpyHeaderBytes needs: the magic (6), the
// version (2) and HEADER_LEN, the length of the text (2, or 4 since version 2).
inline constexpr std::uint64_t kNpyStartBytes = 12;
// Bytes of the longest header that is accepted. In version 1, no header can be
// longer. In later versions, only headers of records with many fields are
// longer.
inline constexpr std::uint64_t kLongestNpyHeader = (1 << 16) + kNpyStartBytes;

// Returns the length in bytes of a file's header. `start` is the first
// kNpyStartBytes bytes of the file or more, or all of a shorter file.
// DATA_LOSS: the file is not a .npy file, or is damaged. UNIMPLEMENTED: its
// version is unknown.
absl::StatusOr<std::uint64_t> NpyHeaderBytes(
    absl::Span<const std::uint8_t> start);

// Reads a header of version 1, 2 or 3. `start` is the beginning of the file and
// contains the whole header. DATA_LOSS: the file is not a .npy file, is
// damaged, or ends within the header. UNIMPLEMENTED: its version is unknown, or
// its items are not plain numbers.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::uint8_t> start);

}  // namespace forebay::array

#endif  // FOREBAY_SERVER_ARRAY_NPY_HEADER_H_
