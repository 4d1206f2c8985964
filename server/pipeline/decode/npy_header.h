#ifndef FOREBAY_SERVER_PIPELINE_DECODE_NPY_HEADER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_NPY_HEADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

enum class NpyKind { kBool, kSigned, kUnsigned, kFloat, kComplex };

// The type of a .npy file's items, and where they lie.
struct NpyHeader {
  NpyKind kind = NpyKind::kBool;
  std::uint64_t item_bytes = 0;
  bool big_endian = false;
  // Whether the first index changes fastest, instead of the last.
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  // at most 32 dimensions; one item if none
  std::uint64_t data_offset = 0;     // bytes
  std::uint64_t data_bytes = 0;      // within the file
};

// Reads the header of a whole .npy file, of versions 1 to 3. DATA_LOSS: it is
// no .npy file, or damaged or truncated; UNIMPLEMENTED: its items are no plain
// numbers. Errors give the reason alone. Thread-safe; never blocks.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::uint8_t> file);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_NPY_HEADER_H_
