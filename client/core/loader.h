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
#include "proto/fd.h"
#include "proto/job.message.h"
#include "proto/session.message.h"

namespace forebay::client::core {

// A loader: opened once, then read epoch by epoch. Its contract on threads,
// blocking and errors is that of forebay_loader in forebay.h.
//
// A daemon may go away at any moment. The loader still delivers the batches
// that the daemon had published, and then counts as detached. Reattach opens
// the loader at the next daemon and resumes the epoch after the last batch that
// Next has returned.
//
// There are three states. First: no epoch is under way; `ended_` says why.
// Second: an epoch is under way, and a daemon makes its batches. Third: an
// epoch is under way but interrupted; no daemon makes its batches, and `away_`
// says why. ResumeLocked then starts the epoch again. Callers of a method whose
// name ends in Locked hold reader_. A thread in Next holds reader_ while it
// waits, but only for slices of kSliceNanos, so that Close gets its turn.
class Loader {
 public:
  // Connects to a daemon and asks it for the loader. `dataset`: null for the
  // dataset that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       message::PipelineSpec pipeline,
                       std::unique_ptr<Loader>* out);
  ~Loader() { Close(); }

  // Waits until a daemon has opened the loader, at most `timeout_nanos`
  // nanoseconds (negative: without end).
  Status Open(std::int64_t timeout_nanos);
  // Finds the first daemon's answer to the request to open the loader. The
  // answer lives as long as the loader, even after Close. FAILED_PRECONDITION
  // until Open has succeeded.
  Status GetOpened(const message::LoaderOpened** out) const;
  Status StartEpoch(std::uint64_t epoch, std::uint64_t first_sample);
  // Starts an epoch with a list of samples. If the loader's order is
  // FOREBAY_LISTED, the list has the epoch's samples. If the order is
  // FOREBAY_COORDINATED, the list has the samples of the epoch that were seen.
  Status StartListedEpoch(std::uint64_t epoch, const std::int64_t* samples,
                          size_t count, std::uint64_t first_sample);
  // Returns the number of the iteration that was started last; 0 before the
  // first. Each start of an epoch is an iteration with a number of its own.
  std::uint64_t iteration() const { return iteration_.load(); }
  // Waits for the next batch. `iteration`: the number of the iteration whose
  // batch is wanted; 0: the present one. FAILED_PRECONDITION if another
  // iteration has begun.
  Status Next(std::int64_t timeout_nanos, std::uint64_t iteration,
              forebay_batch** out);
  // Attaches to a daemon: see forebay_loader_reattach.
  Status Reattach(std::int64_t timeout_nanos);
  // Whether the daemon is there. Any thread; never blocks.
  bool IsAttached();
  Status StopEpoch();
  // Asks the daemon for the socket by which it sends tasks to workers: see
  // forebay_loader_start_producers.
  Status StartWorkers(std::uint32_t workers, bool are_persistent,
                      proto::Fd* socket);
  Status GetCounters(message::LoaderCounters* out);
  // Returns why batches lie on the host: see forebay_loader_refusal.
  const char* refusal() const { return refusal_.load(); }
  void Close();

 private:
  Loader(std::unique_ptr<const OpenRequest> open_request,
         std::shared_ptr<RemoteLoader> remote,
         const forebay_loader_options& options);

  // The nanoseconds for which a thread waits before it checks whether the
  // loader is closed and whether the daemon is there. The checks then cost
  // almost nothing, and Close still seems immediate.
  static constexpr std::int64_t kSliceNanos = 100'000'000;

  std::shared_ptr<RemoteLoader> Remote() {
    const std::lock_guard lock(remote_mutex_);
    return remote_;
  }
  Status CheckNotForked() const;
  Status CheckNotClosed() const;
  // FAILED_PRECONDITION until Open has succeeded.
  Status CheckOpened() const {
    if (open_.load()) return Status();
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is not open yet");
  }
  // Fails if the loader was inherited by a forked child, is closed, or is not
  // open yet.
  Status CheckOpen() const;
  // FAILED_PRECONDITION if another iteration has begun since `iteration`.
  Status CheckUnderWay(std::uint64_t iteration) const;

  // Opens the loader at the present daemon, or at the next one if the present
  // one is gone or has refused. The epoch under way then counts as interrupted.
  Status OpenLocked(const Deadline& deadline);
  // Stores the first daemon's answer, and compares later daemons' answers with
  // it. FAILED_PRECONDITION: the dataset has changed.
  Status NoteOpened(message::LoaderOpened opened, const proto::Fd& class_list);
  Status Start(EpochPosition position);
  Status StartEpochLocked();
  Status StopEpochLocked();
  // Waits for a batch while the daemon is there. UNAVAILABLE or
  // SOURCE_UNAVAILABLE: the epoch is interrupted.
  Status WaitLocked(const Deadline& deadline, std::uint64_t iteration,
                    forebay_batch** out);
  // Takes the next entry of the ready ring. There must be one.
  Status TakeLocked(forebay_batch** out);
  // Leases and counts the batch that `entry` announced.
  Status LeaseLocked(const proto::ReadyEntry& entry, forebay_batch** out);
  // Ends the epoch under way: Next returns `why` from now on.
  void EndEpochLocked(Status why);
  // Interrupts the epoch under way until Reattach succeeds. Returns `why`.
  Status InterruptLocked(Status why);

  // Tries to resume until a try succeeds or fails for good, or the deadline
  // passes. Pauses as backoff_ says between tries.
  Status ReattachLocked(const Deadline& deadline);
  // Opens the loader if need be, and starts an interrupted epoch again.
  Status ResumeLocked(const Deadline& deadline);
  // Tries to reattach after a call has failed with `status`, for the options'
  // reattach_seconds. Returns `status` if that time is over.
  Status RetryLocked(Status status, const Deadline& deadline);

  const std::unique_ptr<const OpenRequest> open_request_;
  // The options' reattach_seconds in nanoseconds; negative: without end.
  const std::int64_t reattach_nanos_;
  const bool is_coordinated_;     // whether the order is FOREBAY_COORDINATED
  const std::uint64_t forks_;     // ForkHandlers::Forks() at creation
  message::LoaderOpened opened_;  // the first daemon's answer; set before open_
  // Why batches lie on the host, as the daemon that opened the loader last
  // says: see refusal(). Callers may keep the pointer, so refusals_ keeps all
  // texts.
  std::atomic<const char*> refusal_;
  std::deque<std::string> refusals_;
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};
  // The number of the latest iteration. Start writes it before it locks
  // reader_. A thread that waits for a batch of an earlier iteration then
  // returns.
  std::atomic<std::uint64_t> iteration_{0};

  std::mutex reader_;  // held to read the rings; guards the fields below,
                       // except remote_
  bool epoch_under_way_ = false;
  // Whether an epoch is under way whose batches no daemon makes; Reattach then
  // resumes the epoch.
  bool interrupted_ = false;
  // The reason why no epoch is under way.
  Status ended_{FOREBAY_END_OF_EPOCH, "no epoch is under way"};
  EpochPosition position_;  // the position after the batches that Next returned
  bool refused_ = false;    // whether the daemon has refused to open remote_
  Backoff backoff_;
  // The next try comes no earlier than this time of the monotonic clock.
  std::int64_t next_try_nanos_ = 0;
  // The time at which tries to reattach began; empty once a batch has come.
  std::optional<std::int64_t> away_since_nanos_;
  Status away_;  // the latest reason why no batch comes

  // Guards remote_. A thread that writes remote_ also holds reader_, so a
  // thread that holds reader_ may read remote_ without this mutex.
  std::mutex remote_mutex_;
  std::shared_ptr<RemoteLoader> remote_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_LOADER_H_
