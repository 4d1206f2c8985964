#include "server/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>

namespace forebay::base {

std::uint32_t Crc32c(absl::Span<const std::uint8_t> bytes,
                     std::uint32_t before) {
  // A CRC-32C starts from all ones and is inverted at the end (RFC 3720 12.1),
  // so that leading and trailing zero bytes change it. ISA-L's function does
  // neither, so both inversions are made here.
  std::uint32_t crc = ~before;
  while (!bytes.empty()) {
    const auto piece =
        bytes.first(std::min<std::size_t>(bytes.size(), 1 << 30));
    // ISA-L's function takes a length of type int, and declares its input
    // without const although it only reads.
    crc = crc32_iscsi(const_cast<std::uint8_t*>(piece.data()),
                      static_cast<int>(piece.size()), crc);
    bytes.remove_prefix(piece.size());
  }
  return ~crc;
}

}  // namespace forebay::base
