// Fuzzes the x-goog-hash header. The header's reader ends, and finds a checksum
// only where the header has one.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/storage/gcs/gcs_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  const auto crc = forebay::storage::gcs::ParseHashHeader(value);
  if (crc.has_value() && value.find("crc32c=") == value.npos) std::abort();
  return 0;
}
