#ifndef FOREBAY_CLIENT_LOADER_H_
#define FOREBAY_CLIENT_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/backoff.h"
#include "client/dataset.h"
#include "client/deadline.h"
#include "client/fd.h"
#include "client/forebay.h"
#include "client/link.h"
#include "client/opening.h"
#include "client/session_codec.h"
#include "client/status.h"

namespace forebay::client {

// A loader: opened once, then read an epoch at a time. Its contract on threads,
// blocking and errors is that of forebay_loader in forebay.h.
//
// A daemon may go away at any moment. What it had published is still handed
// out; then the loader counts as away: Reattach opens it at the next daemon,
// through a link of its own, and starts the epoch where Next had come to. Links
// live as long as a batch of theirs is held.
class Loader {
 public:
  // `dataset` null: the one that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const Dataset* dataset, const std::string& pipeline,
                       std::unique_ptr<Loader>* out);
  ~Loader() { Close(); }

  Status Open(std::int64_t timeout_nanos);
  // Null until Open has succeeded.
  const LoaderOpened* opened() const {
    return open_.load() ? &opened_ : nullptr;
  }
  Status StartEpoch(std::uint64_t epoch, std::uint64_t first_sample);
  // The loader's order is FOREBAY_LISTED, and the epoch is these samples; or it
  // is FOREBAY_COORDINATED, and these were seen of the epoch.
  Status StartListedEpoch(std::uint64_t epoch, const std::int64_t* samples,
                          size_t count, std::uint64_t first_sample);
  // The number of the iteration that was started last; 0 before the first.
  std::uint64_t iteration() const { return iteration_.load(); }
  // `iteration`: of which a batch is wanted; 0: of the one under way.
  Status Next(std::int64_t timeout_nanos, std::uint64_t iteration,
              forebay_batch** out);
  Status Reattach(std::int64_t timeout_nanos);
  // Whether the daemon is there. Any thread; never blocks.
  bool IsAttached();
  Status StopEpoch();
  Status GetStats(forebay_loader_stats* out);
  void Close();

 private:
  // A loader at one daemon.
  struct Attachment {
    std::shared_ptr<Link> link;
    std::uint64_t request = 0;  // to open it, the answer to which is awaited
    std::optional<std::uint64_t> loader_id;  // nullopt: not answered yet
    bool refused = false;                    // there is no answer to wait for
  };

  Loader(std::unique_ptr<Opening> opening, Attachment attachment,
         const forebay_loader_options& options);

  // How long a wait lasts before the daemon's health is looked at.
  static constexpr std::int64_t kSliceNanos = 100'000'000;

  Status CheckAlive() const;
  Status CheckNotClosed() const;
  Status CheckOpen() const;
  // FAILED_PRECONDITION if another iteration has begun since `iteration`.
  Status CheckUnderWay(std::uint64_t iteration) const;
  Status OpenLocked(const Deadline& deadline);
  Status TakeOpened(Reply reply);
  // `list`: the epoch's samples, where they are listed; `seen`: as seen_.
  Status Start(std::uint64_t epoch, std::uint64_t first_sample, Fd list,
               std::vector<std::int64_t> seen);
  Status StartEpochLocked();
  Status StopEpochLocked();
  // Sees to it that slot number `slot` is known.
  Status FetchSlotsLocked(std::uint32_t slot);
  // Next, as long as the daemon is there.
  Status WaitLocked(const Deadline& deadline, std::uint64_t iteration,
                    forebay_batch** out);
  // Counts the batch, which is about to be handed out.
  Status NoteLocked(forebay_batch& batch);
  // Takes the next entry, which is there.
  Status TakeLocked(forebay_batch** out);
  // Takes and gives back every entry before number `published`.
  void DrainLocked(std::uint32_t published);
  // `why`: what Next returns from now on.
  void EndEpochLocked(Status why);
  // The epoch goes on once Reattach has succeeded. Returns `why`.
  Status InterruptLocked(Status why);

  Status ReattachLocked(const Deadline& deadline);
  Status TryLocked(const Deadline& deadline);
  // Reattach, for as long as the options say; `status` is why.
  Status RideLocked(Status status, const Deadline& deadline);
  void Replace(Attachment attachment);

  const std::unique_ptr<Opening> opening_;
  const std::int64_t patience_nanos_;
  const bool is_coordinated_;  // its order is
  const std::uint64_t forks_;  // of this process when the loader was made
  LoaderOpened opened_;        // by the first daemon; written before open_ is
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};
  // Written before reader_ is taken: a thread that waits for a batch of an
  // earlier iteration gives way.
  std::atomic<std::uint64_t> iteration_{0};

  std::mutex reader_;  // of the rings: guards what follows
  bool epoch_under_way_ = false;
  // Whether nobody produces the epoch under way: Reattach goes on with it.
  bool interrupted_ = false;
  // Why no epoch is under way.
  Status ended_{FOREBAY_END_OF_EPOCH, "no epoch is under way"};
  std::uint64_t epoch_ = 0;
  std::uint64_t next_sample_ = 0;  // after those that Next has returned
  Fd list_;                        // of the epoch's samples, if they are listed
  // Where the order is coordinated: the next_sample_ samples that were seen,
  // as no number tells a daemon that comes later which they were.
  std::vector<std::int64_t> seen_;
  Backoff backoff_;
  std::int64_t next_try_nanos_ = 0;           // not before
  std::optional<std::int64_t> missed_nanos_;  // since when no batch comes
  Status away_;                               // why, as far as known

  // Written with reader_ held, too: readers of the rings need not take it.
  std::mutex attachment_mutex_;
  Attachment attachment_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_LOADER_H_
