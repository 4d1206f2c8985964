#ifndef FOREBAY_SERVER_CACHE_EXTENT_H_
#define FOREBAY_SERVER_CACHE_EXTENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/storage/byte_source.h"

namespace forebay::cache {

// Returns how many bytes of memory the cached bytes of a request take.
std::uint64_t MemoryFor(const storage::ReadRequest& request);
// Returns how many bytes of memory a variant of `variant_bytes` bytes takes.
std::uint64_t MemoryFor(const storage::ReadRequest& request,
                        std::uint64_t variant_bytes);

// A key of the cache that refers to its parts, so that a lookup allocates
// nothing. The key is valid as long as the request and the root that it was
// made of. The key has no revision; CachedBytes and InFlightRead have it
// instead.
struct ExtentView {
  const std::string* root = nullptr;  // the root's identity
  std::string_view object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  storage::Variant variant = storage::kEncoded;
  std::size_t hash = 0;  // of all members above
};

// Returns the key of a request in `variant`. `root` is the identity of the
// request's root.
ExtentView ViewOf(const std::string& root, const storage::ReadRequest& request,
                  storage::Variant variant = storage::kEncoded);

// A key of the cache that owns its parts; its members are those of ExtentView.
struct Extent {
  ExtentView view() const {
    return {root.get(), object, version, offset, length, variant, hash};
  }

  std::shared_ptr<const std::string> root;
  std::string object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  storage::Variant variant = storage::kEncoded;
  std::size_t hash = 0;
};

// Returns whether the keys are equal in all parts but the revision.
bool operator==(const ExtentView& a, const ExtentView& b);

// ExtentHash and ExtentEqual let a hash table of Extents be searched by an
// ExtentView.
struct ExtentHash {
  // NOLINTNEXTLINE(readability-identifier-naming): as the library calls it
  using is_transparent = void;
  std::size_t operator()(const ExtentView& extent) const { return extent.hash; }
  std::size_t operator()(const Extent& extent) const { return extent.hash; }
};
struct ExtentEqual {
  // NOLINTNEXTLINE(readability-identifier-naming): as the library calls it
  using is_transparent = void;
  bool operator()(const Extent& a, const ExtentView& b) const {
    return a.view() == b;
  }
  bool operator()(const Extent& a, const Extent& b) const {
    return a.view() == b.view();
  }
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EXTENT_H_
