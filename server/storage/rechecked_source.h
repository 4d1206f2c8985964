#ifndef FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_

#include <cstdint>
#include <functional>
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
#include "server/storage/stoppable_source.h"

namespace forebay::storage {

// Handles reads that the source below refuses because only the object's ctime
// has changed (ABORTED). A check reads the object's layout again. If the layout
// is still the one that the reader knows, the read is repeated at the current
// revision.
//
// Reads of one object wait for the same check, which is charged to the jobs of
// all of them. A repeated read is charged to all jobs that shared it. Tasks
// parse what a check reads, so that the threads of the source below can go on
// reading.
//
// Thread-safe. The daemon owns it. Once Stop has returned and nobody calls Read
// any more, the source below may be destroyed first; its destruction completes
// the reads that it has. Read does not block. Errors are those of
// ObjectLayout::Revalidate and of the source below. A request that has a layout
// never gets ABORTED from the source below.
class RecheckedSource final : public ByteSource {
 public:
  // Runs a task that takes about `cpu_nanos` nanoseconds of CPU time, for the
  // jobs that pay for `purpose`. Never blocks. May drop the task, which cancels
  // the check.
  using RunTask =
      std::function<void(const ReadPurpose& purpose, std::int64_t cpu_nanos,
                         std::function<void()> task)>;

  RecheckedSource(ByteSource* below, RunTask run)
      : below_(below), run_(std::move(run)), checks_(this) {}

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads: the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  // A read that may have to be repeated.
  struct Watched;
  // A check of a layout, and the reads that wait for it.
  struct Look;
  // The source that a check reads through, which hands each result to a task.
  class CheckReads final : public ByteSource {
   public:
    explicit CheckReads(RecheckedSource* source) : source_(source) {}
    void Read(absl::Span<ReadRequest> requests) override;
    void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
      source_->Share(ticket, purpose);
    }

   private:
    RecheckedSource* const source_;
  };
  // The key of a check: the layout, and the name of the object.
  using LookKey = std::pair<const ObjectLayout*, std::string>;

  // Sends `requests` to the source below. Then tells that source of the readers
  // that had already joined the reads with the tickets in `shared`.
  void ReadBelow(absl::Span<ReadRequest> requests,
                 absl::Span<const std::uint64_t> shared);
  // Begins to watch a read that has a layout. Returns the request to send to
  // the source below instead.
  ReadRequest Watch(ReadRequest request);
  // Returns a copy of the watched request whose `done` calls Complete.
  ReadRequest RequestFor(const std::shared_ptr<Watched>& watched);
  // Finishes the read, or has its layout checked if the ctime alone has
  // changed.
  void Complete(const std::shared_ptr<Watched>& watched,
                absl::StatusOr<ReadResult> result);
  // Forgets the read, and gives its reader the result.
  void Finish(Watched& watched, absl::StatusOr<ReadResult> result);
  // Makes the read wait for a check of its layout, and begins that check if
  // none is in flight.
  void Revalidate(const std::shared_ptr<Watched>& watched);
  // Ends a check. Repeats, at the revision `now`, the reads that wait for the
  // check, or fails them with the check's error.
  void Saw(const std::shared_ptr<Look>& look,
           const absl::StatusOr<Revision>& now);
  // Tells the source below again of the readers that have joined the reads with
  // these tickets.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);

  StoppableSource below_;
  const RunTask run_;
  CheckReads checks_;

  base::Mutex mutex_;
  // The watched reads by ticket. Reads without a ticket are not in this map.
  std::unordered_map<std::uint64_t, std::shared_ptr<Watched>> watched_
      ABSL_GUARDED_BY(mutex_);
  // The checks in flight.
  std::map<LookKey, std::shared_ptr<Look>> looks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_
