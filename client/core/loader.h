#ifndef FOREBAY_CLIENT_CORE_LOADER_H_
#define FOREBAY_CLIENT_CORE_LOADER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/base/backoff.h"
#include "client/base/deadline.h"
#include "client/base/status.h"
#include "client/core/epoch_position.h"
#include "client/core/open_request.h"
#include "client/core/remote_loader.h"
#include "client/forebay.h"
#include "client/wire/dataset.h"
#include "client/wire/session_codec.h"
#include "proto/fd.h"

namespace forebay::client::core {

// A loader: opened once, then read epoch by epoch. Its contract on threads,
// blocking and errors is that of forebay_loader in forebay.h.
//
// A daemon may go away at any moment. The loader still delivers the batches
// that it had published, and then counts as detached. Reattach opens the loader
// at the next daemon and starts the epoch after the last batch that Next has
// returned.
class Loader {
 public:
  // `dataset`: null for the one that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       const std::string& pipeline,
                       std::unique_ptr<Loader>* out);
  ~Loader() { Close(); }

  Status Open(std::int64_t timeout_nanos);
  // Finds what the daemon answered when it opened the loader. It lives as long
  // as the loader, also when that is closed. FAILED_PRECONDITION until Open has
  // succeeded.
  Status GetOpened(const wire::LoaderOpened** out) const;
  Status StartEpoch(std::uint64_t epoch, std::uint64_t first_sample);
  // If the loader's order is FOREBAY_LISTED, these are the epoch's samples; if
  // it is FOREBAY_COORDINATED, those that were seen of the epoch.
  Status StartListedEpoch(std::uint64_t epoch, const std::int64_t* samples,
                          size_t count, std::uint64_t first_sample);
  // The number of the iteration that was started last; 0 before the first.
  std::uint64_t iteration() const { return iteration_.load(); }
  // `iteration`: of which a batch is wanted; 0 for the present one.
  Status Next(std::int64_t timeout_nanos, std::uint64_t iteration,
              forebay_batch** out);
  Status Reattach(std::int64_t timeout_nanos);
  // Whether the daemon is there. Any thread; never blocks.
  bool IsAttached();
  Status StopEpoch();
  // See forebay_loader_start_producers.
  Status StartProducers(std::uint32_t producers, bool are_persistent,
                        proto::Fd* socket);
  Status GetStats(forebay_loader_stats* out);
  // See forebay_loader_refusal.
  const char* refusal() const { return refusal_.load(); }
  void Close();

 private:
  Loader(std::unique_ptr<const OpenRequest> open_request,
         std::shared_ptr<RemoteLoader> remote,
         const forebay_loader_options& options);

  // How long a wait lasts before the loader checks the daemon's health.
  static constexpr std::int64_t kSliceNanos = 100'000'000;

  std::shared_ptr<RemoteLoader> Remote() {
    const std::lock_guard lock(remote_mutex_);
    return remote_;
  }
  Status CheckNotForked() const;
  Status CheckNotClosed() const;
  // Whether Open has succeeded.
  Status CheckOpened() const {
    if (open_.load()) return Status();
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is not open yet");
  }
  Status CheckOpen() const;
  // FAILED_PRECONDITION if another iteration has begun since `iteration`.
  Status CheckUnderWay(std::uint64_t iteration) const;

  Status OpenLocked(const Deadline& deadline);
  Status NoteOpened(wire::LoaderOpened opened, const proto::Fd& class_list);
  Status Start(EpochPosition position);
  Status StartEpochLocked();
  Status StopEpochLocked();
  // Waits for a batch as long as the daemon is there.
  Status WaitLocked(const Deadline& deadline, std::uint64_t iteration,
                    forebay_batch** out);
  // Takes the next entry, which is there.
  Status TakeLocked(forebay_batch** out);
  // Leases and counts the batch that `entry` announced.
  Status LeaseLocked(const proto::ReadyEntry& entry, forebay_batch** out);
  // Ends the epoch: Next returns `why` from now on.
  void EndEpochLocked(Status why);
  // Interrupts the epoch until Reattach succeeds. Returns `why`.
  Status InterruptLocked(Status why);

  Status ReattachLocked(const Deadline& deadline);
  // Opens the loader if need be, and starts an interrupted epoch again.
  Status ResumeLocked(const Deadline& deadline);
  // Reattaches, for as long as the options say; `status` is why.
  Status RetryLocked(Status status, const Deadline& deadline);

  const std::unique_ptr<const OpenRequest> open_request_;
  const std::int64_t reattach_nanos_;  // negative: without end
  const bool is_coordinated_;          // whether the order is
  const std::uint64_t forks_;  // of this process when the loader was created
  wire::LoaderOpened opened_;  // by the first daemon; written before open_
  // Of the daemon that opened it last; texts stay.
  std::atomic<const char*> refusal_;
  std::deque<std::string> refusals_;
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};
  // Written before reader_ is taken, so that a thread that waits for a batch of
  // an earlier iteration returns.
  std::atomic<std::uint64_t> iteration_{0};

  std::mutex reader_;  // held to read the rings; guards the rest
  bool epoch_under_way_ = false;
  // Whether no daemon produces the epoch under way; Reattach then resumes it.
  bool interrupted_ = false;
  // Why no epoch is under way.
  Status ended_{FOREBAY_END_OF_EPOCH, "no epoch is under way"};
  EpochPosition position_;  // after the batches that Next has returned
  bool refused_ = false;    // whether `remote_` will not be opened
  Backoff backoff_;
  std::int64_t next_try_nanos_ = 0;               // earliest
  std::optional<std::int64_t> away_since_nanos_;  // since when no batch comes
  Status away_;                                   // why, as far as known

  // Written with reader_ held, too: readers of the rings need not lock it.
  std::mutex remote_mutex_;
  std::shared_ptr<RemoteLoader> remote_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_LOADER_H_
