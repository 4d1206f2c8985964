#include "server/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>

namespace forebay::base {

std::uint32_t Crc32c(absl::Span<const std::uint8_t> bytes,
                     std::uint32_t before) {
  std::uint32_t crc = ~before;
  while (!bytes.empty()) {
    const auto piece =
        bytes.first(std::min<std::size_t>(bytes.size(), 1 << 30));
    // Only reads, in spite of its declaration.
    crc = crc32_iscsi(const_cast<std::uint8_t*>(piece.data()),
                      static_cast<int>(piece.size()), crc);
    bytes.remove_prefix(piece.size());
  }
  return ~crc;
}

}  // namespace forebay::base
