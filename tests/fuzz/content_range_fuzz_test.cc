// Fuzzes the Content-Range header. The header's reader finds nothing, or a
// range that lies within the object.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/storage/http/content_range.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  const auto range = forebay::storage::http::ParseContentRange(value);
  if (!range.has_value()) return 0;
  Require(range->first <= range->last);
  Require(!range->object_size.has_value() || range->last < *range->object_size);
  return 0;
}
