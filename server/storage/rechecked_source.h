#ifndef FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Reads what the source below refuses because the object's ctime alone is
// another one (ABORTED), if the object's layout is still what the reader knows:
// looks again, and reads by the revision that is there now. Reads that wait for
// a look at one object wait for the same one. It is for all of them, and so is
// what is read again for all that joined it.
//
// Thread-safe. Owned by the daemon. The source below may go first, once Stop
// has returned and nobody reads any more; it outlives what it was asked before.
// Read does not block. Errors are those of the source below, without ABORTED
// where a request has a layout, and those of ObjectLayout::LookAgain.
class RecheckedSource final : public ByteSource {
 public:
  explicit RecheckedSource(ByteSource* below) : below_(below) {}

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // From now on what is read is cancelled, and nothing below is asked.
  void Stop();

 private:
  // A read that may have to be made again.
  struct Watched;
  // What layouts are asked for, and those who wait for the answer.
  struct Look;
  using LookKey = std::pair<const ObjectLayout*, std::string>;

  ReadRequest Watch(ReadRequest request);
  ReadRequest RequestFor(const std::shared_ptr<Watched>& watched);
  void Complete(const std::shared_ptr<Watched>& watched,
                absl::StatusOr<ReadResult> result);
  void Finish(Watched& watched, absl::StatusOr<ReadResult> result);
  // Has the read wait for a look, which it begins unless others wait for it.
  void LookAgain(const std::shared_ptr<Watched>& watched);
  void Saw(const std::shared_ptr<Look>& look,
           const absl::StatusOr<Revision>& now);
  // Tells the source below who joined the watched reads of those tickets, which
  // it has been asked for once more.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  // Whether the source below may be asked; then Leave is to follow.
  bool Enter();
  void Leave();

  ByteSource* const below_;

  base::Mutex mutex_;
  base::CondVar quiet_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // Who is in below_->Read or below_->Share for a read of ours.
  int asking_ ABSL_GUARDED_BY(mutex_) = 0;
  // By ticket, where there is one.
  std::unordered_map<std::uint64_t, std::shared_ptr<Watched>> watched_
      ABSL_GUARDED_BY(mutex_);
  std::map<LookKey, std::shared_ptr<Look>> looks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_
