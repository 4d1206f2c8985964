#include "server/storage/gcs/gcs_lister.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/storage/gcs/listing.h"

namespace forebay::storage::gcs {
namespace {

// The most folders that are listed at once.
constexpr std::size_t kThreads = 16;
constexpr std::uint64_t kMaxObjectBytes = 64 << 10;

absl::StatusOr<const GcsRoot*> BucketOf(const Root& root) {
  const auto* const bucket = dynamic_cast<const GcsRoot*>(&root);
  if (bucket == nullptr)
    return absl::InvalidArgumentError("lies in no bucket of Cloud Storage");
  return bucket;
}

// Folders that wait for a thread to list them; the first error ends all.
class FolderQueue {
 public:
  explicit FolderQueue(std::vector<std::string> folders)
      : folders_(std::move(folders)) {}

  // Returns false if there are no more.
  bool Next(std::string* folder) {
    base::MutexLock lock(&mutex_);
    if (next_ == folders_.size() || !status_.ok()) return false;
    *folder = std::move(folders_[next_++]);
    return true;
  }

  void Done(const absl::Status& status) {
    base::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = status;
  }

  absl::Status status() {
    base::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  base::Mutex mutex_;
  std::vector<std::string> folders_ ABSL_GUARDED_BY(mutex_);
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status GcsLister::List(const Root& root,
                             const std::function<void(ListedObject)>& each,
                             const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const GcsRoot* const bucket, BucketOf(root));
  const auto take = [&each](ListedObject object) {
    each(std::move(object));
    return true;
  };
  std::vector<std::string> folders;
  const absl::Status level =
      ListObjects(client_, authorizer_, *bucket, take,
                  {.folder = "",
                   .folders =
                       [&folders](std::string folder) {
                         folders.push_back(std::move(folder));
                       },
                   .stop = stop});
  if (!level.ok()) return Explained(level, *bucket);

  const std::size_t threads =
      std::clamp<std::size_t>(folders.size(), 1, kThreads);
  FolderQueue queue(std::move(folders));
  const auto work = [&] {
    std::string folder;
    while (queue.Next(&folder))
      queue.Done(
          ListObjects(client_, authorizer_, *bucket, take,
                      {.folder = folder, .folders = nullptr, .stop = stop}));
  };
  base::RunOnThreads(threads, work);
  return Explained(queue.status(), *bucket);
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
  call.judge = [&](const http::Answer& answer) -> absl::Status {
    FOREBAY_ASSIGN_OR_RETURN(found, ParseObject(answer.body, bucket->prefix()));
    if (found.name != object)
      return absl::DataLossError("the server tells of another object");
    return absl::OkStatus();
  };
  const auto answer = client_->Await(std::move(call), stop);
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
