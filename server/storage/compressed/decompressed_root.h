#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_ROOT_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_ROOT_H_

#include <memory>
#include <string>
#include <utility>

#include "server/storage/byte_source.h"
#include "server/storage/compressed/file_points.h"

namespace forebay::storage::compressed {

// Shows the files below another root as if all of them were decompressed. The
// version of a compressed file has the decompressed size.
//
// Thread-safe and immutable, as Root says. Shares the other root and the
// points. Calls do not block, and have no errors.
class DecompressedRoot final : public Root {
 public:
  DecompressedRoot(std::shared_ptr<const Root> root,
                   std::shared_ptr<const FilePoints> points)
      : root_(std::move(root)),
        points_(std::move(points)),
        identity_(Decompressed(root_->identity())),
        lasting_identity_(Decompressed(root_->lasting_identity())) {}

  const std::string& uri() const override { return root_->uri(); }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  bool StillHas(const std::string& object,
                const ObjectVersion& version) const override {
    return root_->StillHas(object, CompressedVersion(object, version));
  }
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

  const std::shared_ptr<const Root>& root() const { return root_; }
  const FilePoints& points() const { return *points_; }
  // Returns `version` with the compressed file's own size in place of the
  // decompressed size.
  ObjectVersion CompressedVersion(const std::string& object,
                                  ObjectVersion version) const {
    if (const CompressedFile* const file = points_->Find(object);
        file != nullptr)
      version.size = file->compressed_size;
    return version;
  }

 private:
  // Returns an identity that differs from those of all roots of compressed
  // files. The prefix must not change: caches on disk find their entries by it.
  static std::shared_ptr<const std::string> Decompressed(
      const std::shared_ptr<const std::string>& identity) {
    if (identity == nullptr) return nullptr;
    return std::make_shared<const std::string>("inflated:" + *identity);
  }

  const std::shared_ptr<const Root> root_;
  const std::shared_ptr<const FilePoints> points_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
};

// Returns a DecompressedRoot, or `root` itself if there are no points.
inline std::shared_ptr<const Root> WithPoints(
    std::shared_ptr<const Root> root,
    std::shared_ptr<const FilePoints> points) {
  if (points == nullptr) return root;
  return std::make_shared<const DecompressedRoot>(std::move(root),
                                                  std::move(points));
}

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_ROOT_H_
