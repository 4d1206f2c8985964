#include "server/storage/rechecked_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

// Each is of a revision that is newer than the one before.
constexpr int kMostTries = 8;

}  // namespace

struct RecheckedSource::Watched {
  ReadRequest request;  // without its `done`
  std::function<void(absl::StatusOr<base::Bytes>)> done;
  int tries = 0;
};

void RecheckedSource::Read(absl::Span<ReadRequest> requests) {
  if (!Enter()) {
    for (ReadRequest& request : requests)
      request.done(absl::CancelledError(
          absl::StrCat(request.object, ": the daemon is shutting down")));
    return;
  }
  for (ReadRequest& request : requests) {
    if (request.layout != nullptr) request = Watch(std::move(request));
  }
  below_->Read(requests);
  Leave();
}

ReadRequest RecheckedSource::Watch(ReadRequest request) {
  auto watched = std::make_shared<Watched>();
  watched->done = std::exchange(request.done, nullptr);
  watched->request = std::move(request);
  return RequestFor(watched);
}

ReadRequest RecheckedSource::RequestFor(
    const std::shared_ptr<Watched>& watched) {
  ReadRequest request = watched->request;
  request.layout = nullptr;
  request.done = [this, watched](absl::StatusOr<base::Bytes> bytes) {
    Land(watched, std::move(bytes));
  };
  return request;
}

void RecheckedSource::Land(const std::shared_ptr<Watched>& watched,
                           absl::StatusOr<base::Bytes> bytes) {
  const bool touched = absl::IsAborted(bytes.status());
  if (touched && ++watched->tries < kMostTries) {
    ReadRequest& read = watched->request;
    read.layout->LookAgain(read, *this,
                           [this, watched](absl::StatusOr<Revision> now) {
                             if (!now.ok()) return watched->done(now.status());
                             watched->request.version.revision = *now;
                             ReadRequest again = RequestFor(watched);
                             Read({&again, 1});
                           });
    return;
  }
  if (touched) {
    bytes = absl::FailedPreconditionError(
        absl::StrCat(watched->request.object, ": is changed again and again"));
  }
  watched->done(std::move(bytes));
}

void RecheckedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  below_->Share(ticket, purpose);
}

void RecheckedSource::SetWeight(std::uint64_t job, double weight) {
  below_->SetWeight(job, weight);
}

void RecheckedSource::SetCap(std::uint64_t job, double bytes_per_second) {
  below_->SetCap(job, bytes_per_second);
}

void RecheckedSource::Forget(std::uint64_t job) { below_->Forget(job); }

void RecheckedSource::Stop() {
  base::MutexLock lock(&mutex_);
  stopped_ = true;
  while (asking_ > 0) quiet_.Wait(&mutex_);
}

bool RecheckedSource::Enter() {
  base::MutexLock lock(&mutex_);
  if (stopped_) return false;
  ++asking_;
  return true;
}

void RecheckedSource::Leave() {
  base::MutexLock lock(&mutex_);
  if (--asking_ == 0) quiet_.NotifyAll();
}

}  // namespace forebay::storage
