#ifndef FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_DIGEST_H_
#define FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_DIGEST_H_

#include <cstdint>
#include <string_view>

#include "server/dataset/dataset.h"
#include "server/dataset/version_digest.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// A digest of everything that an archive's directory says of its members,
// including CRCs. Equal digests mean equal members in equal places.
//
// Not thread-safe. Owns only its state. Never blocks. Has no errors.
class DirectoryDigest {
 public:
  // Adds a member. Must be called for every member, in the directory's order.
  void Add(const ZipMember& member) {
    digest_.Add(std::string_view(member.name));
    digest_.Add(member.header_offset).Add(member.compressed).Add(member.length);
    digest_.Add(member.crc32).Add(static_cast<int>(member.method));
  }

  // Returns the digest. Must be called once, after all members were added.
  // `begin` is the offset of the directory in the archive, in bytes.
  Version Finish(std::uint64_t begin) { return digest_.Add(begin).Get(); }

 private:
  VersionDigest digest_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_DIGEST_H_
