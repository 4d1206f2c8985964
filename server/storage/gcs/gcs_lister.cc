#include "server/storage/gcs/gcs_lister.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/gcs/gcs_listing.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/object_list.h"

namespace forebay::storage::gcs {
namespace {

// The longest answer about one object, in bytes.
constexpr std::uint64_t kMaxObjectBytes = 64 << 10;

// Returns the root as a bucket, or INVALID_ARGUMENT if it is of another kind.
absl::StatusOr<const GcsRoot*> BucketOf(const Root& root) {
  const auto* const bucket = dynamic_cast<const GcsRoot*>(&root);
  if (bucket == nullptr)
    return absl::InvalidArgumentError("lies in no bucket of Cloud Storage");
  return bucket;
}

}  // namespace

absl::Status GcsLister::List(const Root& root,
                             const std::function<void(ListedObject)>& each,
                             const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const GcsRoot* const bucket, BucketOf(root));
  return Explained(
      http::ListByFolder(client_, ListsOf(*bucket, authorizer_), each, stop),
      *bucket);
}

absl::StatusOr<ObjectVersion> GcsLister::Stat(const Root& root,
                                              std::string_view object,
                                              const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const GcsRoot* const bucket, BucketOf(root));
  const auto url = bucket->StatUrl(object);
  if (!url.ok()) return base::Annotate(url.status(), object);
  ListedObject found;
  http::Call call;
  call.request.url = *url;
  call.request.max_body = kMaxObjectBytes;
  call.authorizer = authorizer_;
  call.judge = [&](const http::HttpResponse& answer) -> absl::Status {
    FOREBAY_ASSIGN_OR_RETURN(found, ParseObject(answer.body, bucket->prefix()));
    if (found.name != object)
      return absl::DataLossError("the server tells of another object");
    return absl::OkStatus();
  };
  const auto answer = http::Await(client_, std::move(call), stop);
  if (absl::IsNotFound(answer.status()))
    return base::Annotate(answer.status(), object);
  if (!answer.ok())
    return base::Annotate(Explained(answer.status(), *bucket), object);
  return found.version;
}

absl::Status GcsLister::Explained(const absl::Status& error,
                                  const GcsRoot& root) const {
  if (absl::IsNotFound(error))
    return absl::NotFoundError(
        absl::StrCat("there is no bucket called ", root.bucket()));
  if (absl::IsPermissionDenied(error))
    return absl::PermissionDeniedError(
        absl::StrCat(error.message(), "; asked with ", credentials_));
  return error;
}

}  // namespace forebay::storage::gcs
