#include "server/storage/s3/s3_lister.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/object_list.h"
#include "server/storage/s3/fault.h"
#include "server/storage/s3/s3_listing.h"
#include "server/storage/s3/s3_protocol.h"

namespace forebay::storage::s3 {
namespace {

// Returns the root as a bucket, or INVALID_ARGUMENT if it is of another kind.
absl::StatusOr<const S3Root*> BucketOf(const Root& root) {
  const auto* const bucket = dynamic_cast<const S3Root*>(&root);
  if (bucket == nullptr) return absl::InvalidArgumentError("lies in no bucket");
  return bucket;
}

// Returns the version that the headers of an answer tell.
absl::StatusOr<ObjectVersion> VersionIn(const http::HttpResponse& answer,
                                        http::EntityTags* tags) {
  const std::string* const length = answer.Header("content-length");
  ObjectVersion version;
  if (length == nullptr || !absl::SimpleAtoi(*length, &version.size))
    return absl::InvalidArgumentError("the server does not tell its size");
  const std::string* const header = answer.Header("etag");
  const std::string_view tag =
      header == nullptr ? std::string_view() : PlainTag(*header);
  if (tag.empty())
    return absl::InvalidArgumentError("the server does not tell its ETag");
  version.stamp = http::StampOfTag(tag);
  tags->Add(tag);
  return version;
}

}  // namespace

absl::Status S3Lister::List(const Root& root,
                            const std::function<void(ListedObject)>& each,
                            const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const S3Root* const bucket, BucketOf(root));
  const absl::Status listed = http::ListByFolder(
      client_, ListsOf(*bucket, authorizer_, tags_), each, stop);
  if (absl::IsNotFound(listed))
    return absl::NotFoundError(
        absl::StrCat("there is no bucket called ", bucket->bucket()));
  return Explained(listed);
}

absl::StatusOr<ObjectVersion> S3Lister::Stat(const Root& root,
                                             std::string_view object,
                                             const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const S3Root* const bucket, BucketOf(root));
  const auto url = bucket->UrlOf(object);
  if (!url.ok()) return base::Annotate(url.status(), object);
  http::Call call;
  call.request.method = "HEAD";
  call.request.url = *url;
  call.authorizer = authorizer_;
  call.fault = &FaultOf;
  const auto answer = http::Await(client_, std::move(call), stop);
  if (!answer.ok()) return base::Annotate(Explained(answer.status()), object);
  auto version = VersionIn(*answer, tags_);
  if (!version.ok()) return base::Annotate(version.status(), object);
  return version;
}

absl::Status S3Lister::Explained(const absl::Status& error) const {
  if (!absl::IsPermissionDenied(error)) return error;
  return absl::PermissionDeniedError(
      absl::StrCat(error.message(), "; asked with ", credentials_()));
}

}  // namespace forebay::storage::s3
