#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_LISTER_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_LISTER_H_

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::gcs {

// Lists objects below GcsRoots in Google Cloud Storage. The folders directly
// below a root are listed in parallel, on threads that end before List
// returns. A page has 1,000 objects.
//
// Thread-safe. `client` and `authorizer` (which may be null) outlive it. Calls
// block, as ObjectLister says. Errors are those of ObjectLister;
// PERMISSION_DENIED names the credentials that were used.
class GcsLister final : public ObjectLister {
 public:
  // `credentials` is the human-readable name of the account that makes the
  // requests.
  GcsLister(http::Client* client, http::Authorizer* authorizer,
            std::string credentials)
      : client_(client),
        authorizer_(authorizer),
        credentials_(std::move(credentials)) {}

  absl::Status List(const Root& root,
                    const std::function<void(ListedObject)>& each,
                    const std::stop_token& stop) override;
  absl::StatusOr<ObjectVersion> Stat(const Root& root, std::string_view object,
                                     const std::stop_token& stop) override;

 private:
  // Returns the error with the bucket's or the credentials' name, if that
  // helps.
  absl::Status Explained(const absl::Status& error, const GcsRoot& root) const;

  http::Client* const client_;
  http::Authorizer* const authorizer_;
  const std::string credentials_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_LISTER_H_
