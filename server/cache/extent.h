#ifndef FOREBAY_SERVER_CACHE_EXTENT_H_
#define FOREBAY_SERVER_CACHE_EXTENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/storage/byte_source.h"

namespace forebay::cache {

// Bytes of memory that keeping what is asked for takes.
std::uint64_t MemoryFor(const storage::ReadRequest& request);
// The same, of another variant of it that is so long.
std::uint64_t MemoryFor(const storage::ReadRequest& request,
                        std::uint64_t variant_bytes);

// What the cache knows bytes by, without what it takes to keep that: to look
// them up costs no allocation. Valid as long as what it was made of. A
// version's revision does not count: which one is kept, what is cached says,
// and which one is on its way, the read in flight.
struct ExtentView {
  const std::string* root = nullptr;  // its identity
  std::string_view object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  storage::Variant variant = storage::kEncoded;
  std::size_t hash = 0;  // of all of it
};

// `root` is the identity of the request's root.
ExtentView ViewOf(const std::string& root, const storage::ReadRequest& request,
                  storage::Variant variant = storage::kEncoded);

// The same, to be kept.
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

bool operator==(const ExtentView& a, const ExtentView& b);

// For hash tables that find an Extent by a view of it.
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
