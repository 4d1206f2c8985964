#include "server/storage/read_now.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage {
namespace {

// Thread-safe. Shared with the read, which may outlive who waits for it.
class Answer {
 public:
  Revision* seen() { return &seen_; }

  void Give(absl::StatusOr<base::Bytes> bytes) {
    base::MutexLock lock(&mutex_);
    if (bytes_.has_value()) return;
    bytes_ = std::move(bytes);
    given_.NotifyAll();
  }

  absl::StatusOr<base::Bytes> Await() {
    base::MutexLock lock(&mutex_);
    while (!bytes_.has_value()) given_.Wait(&mutex_);
    return *std::move(bytes_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar given_;
  Revision seen_;  // the read's until it gives its bytes
  // The first one counts.
  std::optional<absl::StatusOr<base::Bytes>> bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<base::Bytes> ReadNow(ByteSource& source, ReadRequest request,
                                    const std::stop_token& stop,
                                    Revision* seen) {
  const auto answer = std::make_shared<Answer>();
  request.seen = answer->seen();
  request.done = [answer](absl::StatusOr<base::Bytes> bytes) {
    answer->Give(std::move(bytes));
  };
  const std::stop_callback on_stop(stop, [answer] {
    answer->Give(absl::CancelledError("was not read to the end"));
  });
  source.Read(absl::MakeSpan(&request, 1));
  auto bytes = answer->Await();
  if (bytes.ok() && seen != nullptr) *seen = *answer->seen();
  return bytes;
}

}  // namespace forebay::storage
