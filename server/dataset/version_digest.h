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

// Returns the hash in its canonical form, the same on every host.
inline Version ToVersion(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Version version;
  static_assert(sizeof(canonical.digest) == sizeof(version));
  std::memcpy(version.data(), canonical.digest, sizeof(version));
  return version;
}

// Digests (XXH3-128) what a dataset is made of, in the order of the calls, into
// its version. Not thread-safe; owns nothing else; never blocks.
class VersionDigest {
 public:
  // `kind` tells apart datasets that are made in different ways.
  explicit VersionDigest(std::string_view kind = {}) {
    XXH3_128bits_reset(&state_);
    AddItems(kind.data(), kind.size());
  }

  template <typename Item>
  VersionDigest& AddItems(const Item* items, std::size_t count) {
    XXH3_128bits_update(&state_, items, count * sizeof(Item));
    return *this;
  }
  template <std::integral Number>
  VersionDigest& Add(Number number) {
    return AddItems(&number, 1);
  }
  // Adds the text's size, too, so that texts in a row have one meaning.
  VersionDigest& Add(std::string_view text) {
    return Add(std::uint64_t{text.size()}).AddItems(text.data(), text.size());
  }
  VersionDigest& Add(const Version& version) {
    return AddItems(version.data(), version.size());
  }

  Version Get() const { return ToVersion(XXH3_128bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_VERSION_DIGEST_H_
