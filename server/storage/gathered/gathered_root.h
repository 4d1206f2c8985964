#ifndef FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_ROOT_H_
#define FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_ROOT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/storage/byte_source.h"
#include "server/storage/gathered/pieces.h"

namespace forebay::storage::gathered {

// The files below another root. Some of them have further bytes after their own
// bytes (see Pieces); the versions of these files have the larger sizes.
//
// Thread-safe and immutable, as Root says. Shares the other root and the
// pieces. Calls do not block, and have no errors.
class GatheredRoot final : public Root {
 public:
  // Makes a root for the pieces. `name` distinguishes datasets that gather
  // different pieces of the same files.
  GatheredRoot(std::shared_ptr<const Root> root,
               std::shared_ptr<const Pieces> pieces, const std::string& name)
      : root_(std::move(root)),
        pieces_(std::move(pieces)),
        identity_(Gathered(name, root_->identity())),
        lasting_identity_(Gathered(name, root_->lasting_identity())) {}

  const std::string& uri() const override { return root_->uri(); }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  bool StillHas(const std::string& object,
                const ObjectVersion& version) const override {
    return root_->StillHas(object, OwnVersion(object, version));
  }
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

  const std::shared_ptr<const Root>& root() const { return root_; }
  const Pieces& pieces() const { return *pieces_; }
  // Returns the version that the file itself has.
  ObjectVersion OwnVersion(const std::string& object,
                           ObjectVersion version) const {
    version.size = pieces_->OwnSize(object, version.size);
    return version;
  }

 private:
  // Returns an identity that differs from those of the other root and of pieces
  // with another name.
  static std::shared_ptr<const std::string> Gathered(
      const std::string& name,
      const std::shared_ptr<const std::string>& identity) {
    if (identity == nullptr) return nullptr;
    return std::make_shared<const std::string>(
        absl::StrCat("gathered:", name, ":", *identity));
  }

  const std::shared_ptr<const Root> root_;
  const std::shared_ptr<const Pieces> pieces_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_ROOT_H_
