#include "server/storage/read_now.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage {
namespace {

// The result of a read, for the thread that waits for it. Thread-safe. The
// waiting thread shares it with the read, which may end later than the wait.
class Answer {
 public:
  void Give(absl::StatusOr<ReadResult> result) {
    base::MutexLock lock(&mutex_);
    if (result_.has_value()) return;
    result_ = std::move(result);
    answered_.NotifyAll();
  }

  absl::StatusOr<ReadResult> Await() {
    base::MutexLock lock(&mutex_);
    while (!result_.has_value()) answered_.Wait(&mutex_);
    return *std::move(result_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar answered_;
  // The first result that was given: the read's result, or CANCELLED after a
  // stop.
  std::optional<absl::StatusOr<ReadResult>> result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<ReadResult> ReadNow(ByteSource& source, ReadRequest request,
                                   const std::stop_token& stop) {
  const auto answer = std::make_shared<Answer>();
  request.done = [answer](absl::StatusOr<ReadResult> result) {
    answer->Give(std::move(result));
  };
  const std::stop_callback on_stop(stop, [answer] {
    answer->Give(absl::CancelledError("was not read to the end"));
  });
  source.Read(absl::MakeSpan(&request, 1));
  return answer->Await();
}

}  // namespace forebay::storage
