#include "server/pipeline/decode/av1_frames.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// Takes a leb128 number (AV1 Bitstream & Decoding Process Specification,
// 4.10.5) off the front of `bytes`. Returns nullopt if the number is cut off or
// longer than 8 bytes.
std::optional<std::uint64_t> TakeNumber(Bytes& bytes) {
  constexpr std::size_t kMostBytes = 8;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), kMostBytes); ++i) {
    number |= std::uint64_t{bytes[i] & 0x7fU} << (7 * i);
    if ((bytes[i] & 0x80U) == 0) {
      bytes.remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t CountAv1Frames(Bytes stream) {
  // Types of OBU (section 6.2.2): OBU_FRAME_HEADER and OBU_FRAME.
  constexpr unsigned kFrameHeader = 3;
  constexpr unsigned kFrame = 6;
  std::uint64_t frames = 0;
  while (!stream.empty() && frames < kMostAv1Frames) {
    // The OBU header (section 5.3.2): obu_forbidden_bit, obu_type in 4 bits,
    // obu_extension_flag, obu_has_size_field, obu_reserved_1bit.
    const unsigned header = stream.front();
    const unsigned type = header >> 3 & 0xfU;
    const bool is_forbidden = (header & 0x81U) != 0;
    const bool is_extended = (header & 4U) != 0;
    const bool has_size = (header & 2U) != 0;
    stream.remove_prefix(1);
    // An OBU without a size extends to the end of its item, which is not known
    // here.
    if (is_forbidden || !has_size || (is_extended && stream.empty()))
      return kMostAv1Frames;
    if (is_extended) stream.remove_prefix(1);
    const std::optional<std::uint64_t> size = TakeNumber(stream);
    if (!size.has_value() || *size > stream.size()) return kMostAv1Frames;
    if (type == kFrameHeader || type == kFrame) ++frames;
    stream.remove_prefix(*size);
  }
  return frames == 0 ? kMostAv1Frames : frames;
}

}  // namespace forebay::pipeline::decode
