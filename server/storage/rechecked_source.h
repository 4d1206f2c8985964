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

// Repeats reads that the source below refuses because the object's ctime alone
// has changed (ABORTED), if the object still has the layout that the reader
// knows. Checks the layout again, and reads by the current revision. Reads of
// one object wait for one check, which is charged to all of them; a repeated
// read is charged to all that shared it. Tasks parse what checks read, so that
// the threads of the source below go on reading.
//
// Thread-safe. The daemon owns it. The source below may go first, once Stop has
// returned and nobody reads any more; it outlives the reads asked of it before.
// Read does not block. Errors are those of the source below, without ABORTED if
// the request has a layout, and those of ObjectLayout::LookAgain.
class RecheckedSource final : public ByteSource {
 public:
  // Runs a task that takes about that CPU time, for the jobs that pay for it.
  // Never blocks. May drop the task, which cancels the check.
  using RunTask =
      std::function<void(const ReadPurpose& purpose, std::int64_t cpu_nanos,
                         std::function<void()> task)>;

  RecheckedSource(ByteSource* below, RunTask run)
      : below_(below), run_(std::move(run)), checks_(this) {}

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads; the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  // A read that may have to be repeated.
  struct Watched;
  // A check of a layout, and the reads that wait for it.
  struct Look;
  // Completes reads in tasks.
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
  using LookKey = std::pair<const ObjectLayout*, std::string>;

  // Shares the reads of those tickets, which have been shared before.
  void ReadBelow(absl::Span<ReadRequest> requests,
                 absl::Span<const std::uint64_t> shared);
  ReadRequest Watch(ReadRequest request);
  ReadRequest RequestFor(const std::shared_ptr<Watched>& watched);
  void Complete(const std::shared_ptr<Watched>& watched,
                absl::StatusOr<ReadResult> result);
  void Finish(Watched& watched, absl::StatusOr<ReadResult> result);
  // Makes the read wait for a check, and begins that if none is in flight.
  void LookAgain(const std::shared_ptr<Watched>& watched);
  void Saw(const std::shared_ptr<Look>& look,
           const absl::StatusOr<Revision>& now);
  // Shares the repeated reads of those tickets below, as their readers did with
  // the first ones.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);

  StoppableSource below_;
  const RunTask run_;
  CheckReads checks_;

  base::Mutex mutex_;
  // By ticket; reads without one are not here.
  std::unordered_map<std::uint64_t, std::shared_ptr<Watched>> watched_
      ABSL_GUARDED_BY(mutex_);
  std::map<LookKey, std::shared_ptr<Look>> looks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_RECHECKED_SOURCE_H_
