#ifndef FOREBAY_SERVER_CACHE_DISK_READ_THREADS_H_
#define FOREBAY_SERVER_CACHE_DISK_READ_THREADS_H_

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/cache/disk/index.h"
#include "server/cache/disk/segment_file.h"
#include "server/schedule/fair_queue.h"
#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// The threads that read the tier's disk, forebay-ssd-N. Jobs share them by
// weight and bytes; within a job the most urgent read is first.
//
// Thread-safe. Owned by the tier. Push does not block. Stop and the destructor
// serve the queued reads first. No errors.
class ReadThreads final : public schedule::JobShares {
 public:
  static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;

  struct Read {
    storage::ReadRequest request;
    Index::Found found;
    storage::Revision revision = {};  // of the record
  };
  // Called on the threads, with a scratch buffer of the thread.
  using Serve = std::function<void(Read read, const PageBuffer& scratch)>;

  ReadThreads(int threads, Serve serve);
  ~ReadThreads() override;

  // Moves from `read` and returns true, unless the threads were stopped.
  bool Push(Read&& read);
  // Removes and returns the reads that no thread has begun.
  std::vector<Read> TakeQueued();
  void Stop();  // called on one thread
  // Caps apply to sources: hits on the disk cost them nothing.
  void SetWeight(schedule::Flow job, double weight) override;
  void Forget(schedule::Flow job) override;

 private:
  using Popped = schedule::FairQueue<Read>::Popped;

  void Work(int thread);
  std::optional<Popped> Await();

  const Serve serve_;
  base::Mutex mutex_;
  base::CondVar read_or_end_;
  schedule::FairQueue<Read> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_READ_THREADS_H_
