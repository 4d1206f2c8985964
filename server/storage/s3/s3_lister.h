#ifndef FOREBAY_SERVER_STORAGE_S3_S3_LISTER_H_
#define FOREBAY_SERVER_STORAGE_S3_S3_LISTER_H_

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/object_lister.h"
#include "server/storage/s3/s3_root.h"

namespace forebay::storage::s3 {

// Lists objects below S3Roots. The folders directly below a root are listed
// side by side, on threads that end before List returns. A page has 1,000
// objects.
//
// Thread-safe. `client`, `tags` and `authorizer` (which may be null) outlive
// it. Calls block, as ObjectLister says. Errors are those of ObjectLister;
// PERMISSION_DENIED names the credentials that were used.
class S3Lister final : public ObjectLister {
 public:
  // `credentials` returns the human-readable name of the requests' credentials.
  S3Lister(http::Client* client, http::Authorizer* authorizer,
           http::EntityTags* tags, std::function<std::string()> credentials)
      : client_(client),
        authorizer_(authorizer),
        tags_(tags),
        credentials_(std::move(credentials)) {}

  absl::Status List(const Root& root,
                    const std::function<void(ListedObject)>& each,
                    const std::stop_token& stop) override;
  absl::StatusOr<ObjectVersion> Stat(const Root& root, std::string_view object,
                                     const std::stop_token& stop) override;

 private:
  // Returns the error with the credentials' name, if access was denied.
  absl::Status Explained(const absl::Status& error) const;

  http::Client* const client_;
  http::Authorizer* const authorizer_;
  http::EntityTags* const tags_;
  const std::function<std::string()> credentials_;
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_LISTER_H_
