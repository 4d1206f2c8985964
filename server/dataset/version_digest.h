#ifndef FOREBAY_SERVER_DATASET_VERSION_DIGEST_H_
#define FOREBAY_SERVER_DATASET_VERSION_DIGEST_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/dataset/dataset.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {

static_assert(std::endian::native == std::endian::little);

// Returns `hash` in its canonical form, which is the same on every host.
inline Version ToVersion(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Version version;
  static_assert(sizeof(canonical.digest) == sizeof(version));
  std::memcpy(version.data(), canonical.digest, sizeof(version));
  return version;
}

// Computes a dataset's version: a digest (XXH3-128) of the items that are
// added. The order of the calls matters.
//
// Not thread-safe. Owns only its state. Never blocks. Has no errors.
class VersionDigest {
 public:
  // `kind` tells apart datasets that are built in different ways.
  explicit VersionDigest(std::string_view kind = {}) {
    XXH3_128bits_reset(&state_);
    AddItems(kind.data(), kind.size());
  }

  // Adds the bytes of `count` items as they lie in memory, but not `count`.
  template <typename Item>
  VersionDigest& AddItems(const Item* items, std::size_t count) {
    XXH3_128bits_update(&state_, items, count * sizeof(Item));
    return *this;
  }
  template <std::integral Number>
  VersionDigest& Add(Number number) {
    return AddItems(&number, 1);
  }
  // Adds the text and its size, so that ("ab", "c") and ("a", "bc") have
  // different digests.
  VersionDigest& Add(std::string_view text) {
    return Add(std::uint64_t{text.size()}).AddItems(text.data(), text.size());
  }
  VersionDigest& Add(const Version& version) {
    return AddItems(version.data(), version.size());
  }

  // Returns the digest of all calls so far.
  Version Get() const { return ToVersion(XXH3_128bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_VERSION_DIGEST_H_
