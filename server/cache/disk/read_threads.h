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

// The threads that read the tier's disk, named forebay-ssd-N. Jobs share the
// disk by their weights and the bytes that they read. Within a job the most
// urgent read comes first.
//
// Thread-safe. The tier owns it. Push does not block. Stop and the destructor
// block until the queued reads are served. Has no errors.
class ReadThreads final : public schedule::JobShares {
 public:
  // The bytes of each thread's scratch buffer, which are also the most that one
  // system call reads.
  static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;

  // A hit to read from the disk.
  struct Read {
    storage::ReadRequest request;
    Index::Match found;
    storage::Revision revision = {};  // of the record
  };
  // Reads a hit and answers its request. The reading threads call this
  // function, each with its own scratch buffer.
  using Serve = std::function<void(Read read, const PageBuffer& scratch)>;

  // Starts `threads` threads, or fewer if the system refuses some.
  ReadThreads(int threads, Serve serve);
  ~ReadThreads() override;

  // Whether any thread was started. If not, Push must not be called.
  bool has_threads() const { return !threads_.empty(); }
  // Queues `read` and returns true. After Stop, returns false and leaves `read`
  // as it is.
  bool Push(Read&& read);
  // Removes and returns the reads that no thread has begun.
  std::vector<Read> TakeQueued();
  // Serves the queued reads, then ends the threads. Call it on one thread.
  void Stop();
  // Sets a job's share of the disk. Caps are ignored here: they bound what jobs
  // read from sources, and a hit on the disk reads nothing from a source.
  void SetWeight(schedule::Flow job, double weight) override;
  void Forget(schedule::Flow job) override;

 private:
  using Popped = schedule::FairQueue<Read>::Popped;

  // The body of a thread: serves reads until Stop was called and none are left.
  void Work(int thread);
  // Waits for the next read; returns nullopt once the threads are to end.
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
