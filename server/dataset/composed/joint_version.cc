#include "server/dataset/composed/joint_version.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset::composed {

JointVersion& JointVersion::Add(const Version& version) {
  parts_.append(version.begin(), version.end());
  return *this;
}

JointVersion& JointVersion::Add(std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    parts_.push_back(static_cast<char>(number >> shift));
  }
  return *this;
}

Version JointVersion::Get() const {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(parts_.data(), parts_.size()));
  Version version;
  static_assert(sizeof(digest) == sizeof(version));
  std::memcpy(version.data(), &digest, sizeof(digest));
  return version;
}

}  // namespace forebay::dataset::composed
