#ifndef FOREBAY_SERVER_ARRAY_NPY_HEADER_H_
#define FOREBAY_SERVER_ARRAY_NPY_HEADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The headers of .npy files, which tell what the bytes behind them mean. All of
// a header is a stranger's. Functions are thread-safe and never block; their
// errors give the reason alone.

namespace forebay::array {

enum class NpyKind { kBool, kSigned, kUnsigned, kFloat, kComplex };

// The type of a .npy file's items, and where they lie.
struct NpyHeader {
  NpyKind kind = NpyKind::kBool;
  std::uint64_t item_bytes = 0;
  bool big_endian = false;
  // Whether the first index changes fastest, instead of the last.
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  // at most 32 dimensions; one item if none
  std::uint64_t data_offset = 0;     // bytes of the header
  std::uint64_t data_bytes = 0;      // of all items; at most 2^62
};

// NpyHeaderBytes needs so many.
inline constexpr std::uint64_t kNpyStartBytes = 12;
// Bytes of the longest header that is read.
inline constexpr std::uint64_t kLongestNpyHeader = (1 << 16) + kNpyStartBytes;

// Returns the bytes of the header of a file that begins with `start`: its first
// kNpyStartBytes bytes or more, or all of a shorter file. DATA_LOSS: it is no
// .npy file, or damaged; UNIMPLEMENTED: it is of an unknown version.
absl::StatusOr<std::uint64_t> NpyHeaderBytes(
    absl::Span<const std::uint8_t> start);

// Reads the header of a file of version 1 to 3 that begins with `start`, where
// all of the header must lie. DATA_LOSS: it is no .npy file, damaged, or cut
// off; UNIMPLEMENTED: its items are no plain numbers.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::uint8_t> start);

}  // namespace forebay::array

#endif  // FOREBAY_SERVER_ARRAY_NPY_HEADER_H_
