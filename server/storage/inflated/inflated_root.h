#ifndef FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_ROOT_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_ROOT_H_

#include <memory>
#include <string>
#include <utility>

#include "server/storage/byte_source.h"
#include "server/storage/inflated/file_points.h"

namespace forebay::storage::inflated {

// The files below another root, as if the compressed ones lay there inflated:
// their versions have the inflated sizes. As Root says; shares that root and
// the points.
class InflatedRoot final : public Root {
 public:
  InflatedRoot(std::shared_ptr<const Root> root,
               std::shared_ptr<const FilePoints> points)
      : root_(std::move(root)),
        points_(std::move(points)),
        identity_(Inflated(root_->identity())),
        lasting_identity_(Inflated(root_->lasting_identity())) {}

  const std::string& uri() const override { return root_->uri(); }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  bool StillHas(const std::string& object,
                const ObjectVersion& version) const override {
    return root_->StillHas(object, PackedVersion(object, version));
  }
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

  const std::shared_ptr<const Root>& root() const { return root_; }
  const FilePoints& points() const { return *points_; }
  // The version that the file itself has.
  ObjectVersion PackedVersion(const std::string& object,
                              ObjectVersion version) const {
    if (const PackedFile* const file = points_->Find(object); file != nullptr)
      version.size = file->packed_size;
    return version;
  }

 private:
  static std::shared_ptr<const std::string> Inflated(
      const std::shared_ptr<const std::string>& identity) {
    if (identity == nullptr) return nullptr;
    return std::make_shared<const std::string>("inflated:" + *identity);
  }

  const std::shared_ptr<const Root> root_;
  const std::shared_ptr<const FilePoints> points_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
};

// Returns the root itself if there are no points.
inline std::shared_ptr<const Root> WithPoints(
    std::shared_ptr<const Root> root,
    std::shared_ptr<const FilePoints> points) {
  if (points == nullptr) return root;
  return std::make_shared<const InflatedRoot>(std::move(root),
                                              std::move(points));
}

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_ROOT_H_
