#ifndef FOREBAY_CLIENT_LOADER_H_
#define FOREBAY_CLIENT_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

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
  // The epoch is these samples: the loader's order is FOREBAY_LISTED.
  Status StartListedEpoch(std::uint64_t epoch, const std::int64_t* samples,
                          size_t count, std::uint64_t first_sample);
  Status Next(std::int64_t timeout_nanos, forebay_batch** out);
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
         std::int64_t patience_nanos);

  // How long a wait lasts before the daemon's health is looked at.
  static constexpr std::int64_t kSliceNanos = 100'000'000;

  Status CheckAlive() const;
  Status CheckNotClosed() const;
  Status CheckOpen() const;
  Status OpenLocked(const Deadline& deadline);
  Status TakeOpened(Reply reply);
  // `list`: the epoch's samples, where they are listed.
  Status Start(std::uint64_t epoch, std::uint64_t first_sample, Fd list);
  Status StartEpochLocked();
  Status StopEpochLocked();
  // Next, as long as the daemon is there.
  Status WaitLocked(const Deadline& deadline, forebay_batch** out);
  // Takes the next entry, which is there.
  Status TakeLocked(forebay_batch** out);
  // Takes and gives back every entry before number `published`.
  void DrainLocked(std::uint32_t published);
  void EndEpochLocked();
  // The epoch goes on once Reattach has succeeded. Returns `why`.
  Status InterruptLocked(Status why);

  Status ReattachLocked(const Deadline& deadline);
  Status TryLocked(const Deadline& deadline);
  // Reattach, for as long as the options say; `status` is why.
  Status RideLocked(Status status, const Deadline& deadline);
  void Replace(Attachment attachment);

  const std::unique_ptr<Opening> opening_;
  const std::int64_t patience_nanos_;
  const std::uint64_t forks_;  // of this process when the loader was made
  LoaderOpened opened_;        // by the first daemon; written before open_ is
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};

  std::mutex reader_;  // of the rings: guards what follows
  bool epoch_under_way_ = false;
  // Whether nobody produces the epoch under way: Reattach goes on with it.
  bool interrupted_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t next_sample_ = 0;  // after those that Next has returned
  Fd list_;                        // of the epoch's samples, if they are listed
  Backoff backoff_;
  std::int64_t next_try_nanos_ = 0;           // not before
  std::optional<std::int64_t> missed_nanos_;  // since when no batch comes
  std::string away_;                          // why, as far as known

  // Written with reader_ held, too: readers of the rings need not take it.
  std::mutex attachment_mutex_;
  Attachment attachment_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_LOADER_H_
