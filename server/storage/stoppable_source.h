#ifndef FOREBAY_SERVER_STORAGE_STOPPABLE_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_STOPPABLE_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// A source in front of another one, the source below. After Stop it never calls
// the source below, which may then be destroyed while readers remain.
//
// Thread-safe. Its user owns it. The source below lives at least until Stop
// returns. Stop blocks until the calls in the source below return; other calls
// block only as that source does. Errors are those of the source below, and
// CANCELLED after Stop.
class StoppableSource final : public ByteSource {
 public:
  explicit StoppableSource(ByteSource* below) : below_(below) {}

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Refuses all later calls, and waits for the calls that are in the source
  // below.
  void Stop();

  // Returns the error of a read of `object` that comes after Stop.
  static absl::Status Stopped(const std::string& object);

 private:
  // Returns whether the source below may be called. If true, the caller calls
  // Leave after its call.
  bool Enter();
  void Leave();

  ByteSource* const below_;
  base::Mutex mutex_;
  base::CondVar quiet_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // The number of threads that are in the source below.
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_STOPPABLE_SOURCE_H_
