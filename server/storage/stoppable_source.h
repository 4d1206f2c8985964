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

// A source that may go before those that read from it: once it was stopped, it
// is not called again.
//
// Thread-safe. Its user owns it; the source below outlives it until Stop
// returns. Stop blocks for the calls that are in the source below; the others
// do not block otherwise than that. Errors are those of the source below;
// CANCELLED: stopped.
class StoppableSource final : public ByteSource {
 public:
  explicit StoppableSource(ByteSource* below) : below_(below) {}

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  void Stop();

  // The error of reads of an object that come too late.
  static absl::Status Stopped(const std::string& object);

 private:
  // Returns whether the source below may be called; if so, Leave must follow.
  bool Enter();
  void Leave();

  ByteSource* const below_;
  base::Mutex mutex_;
  base::CondVar quiet_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;  // threads in the source below
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_STOPPABLE_SOURCE_H_
