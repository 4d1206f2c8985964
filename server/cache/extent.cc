#include "server/cache/extent.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::cache {
namespace {

// The bytes of memory that an entry takes besides its bytes and its object's
// name: nodes of the tables, metadata, and the allocator's headers.
constexpr std::uint64_t kEntryBytes = 512;
// The most bytes that the allocator adds to a large block: it rounds to pages
// and has a header of its own.
constexpr std::uint64_t kPieceBytes = 8192;

}  // namespace

std::uint64_t MemoryFor(const storage::ReadRequest& request) {
  return storage::HeldBytes(request.length) + request.object.size() +
         kEntryBytes;
}

std::uint64_t MemoryFor(const storage::ReadRequest& request,
                        std::uint64_t variant_bytes) {
  return variant_bytes + kPieceBytes + request.object.size() + kEntryBytes;
}

ExtentView ViewOf(const std::string& root, const storage::ReadRequest& request,
                  storage::Variant variant) {
  const std::array<std::uint64_t, 6> numbers = {
      XXH3_64bits(root.data(), root.size()),
      request.version.size,
      static_cast<std::uint64_t>(request.version.stamp),
      request.offset,
      request.length,
      variant};
  return {.root = &root,
          .object = request.object,
          .version = request.version,
          .offset = request.offset,
          .length = request.length,
          .variant = variant,
          .hash = XXH3_64bits_withSeed(
              request.object.data(), request.object.size(),
              XXH3_64bits(numbers.data(), sizeof(numbers)))};
}

bool operator==(const ExtentView& a, const ExtentView& b) {
  return a.hash == b.hash && a.offset == b.offset && a.length == b.length &&
         a.variant == b.variant && a.version.size == b.version.size &&
         a.version.stamp == b.version.stamp && a.object == b.object &&
         (a.root == b.root || *a.root == *b.root);
}

}  // namespace forebay::cache
