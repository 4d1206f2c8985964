// Fuzzes a page of a list of objects from a server. Reading the page gives an
// error, or objects that lie below the prefix and can be requested.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/storage/gcs/gcs_listing.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  for (const std::string_view prefix : {"", "p/"}) {
    const auto page = forebay::storage::gcs::ParseListPage(json, prefix);
    if (!page.ok()) continue;
    // Each object takes at least 30 characters of the page.
    Require(page->objects.size() * 30 <= size);
    for (const auto& object : page->objects) {
      Require(!object.name.empty() && !object.name.ends_with('/'));
      Require(object.version.stamp > 0);
    }
  }
  return 0;
}
