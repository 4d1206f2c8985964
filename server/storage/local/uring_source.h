#ifndef FOREBAY_SERVER_STORAGE_LOCAL_URING_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_URING_SOURCE_H_

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/cgroup.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/base/start_thread.h"
#include "server/schedule/job_shares.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/direct_files.h"
#include "server/storage/local/local_source.h"
#include "server/storage/local/open_files.h"
#include "server/storage/local/page_cache_use.h"
#include "server/storage/local/page_pool.h"
#include "server/storage/local/ring.h"

namespace forebay::storage::local {

// The ring, memory and threads of a UringSource.
struct UringSourceOptions {
  // The most operations that wait for the disk at once, 1 to 4096.
  unsigned depth = 64;
  // Whether files may be read past the page cache, if their file system
  // supports that.
  bool direct = true;
  // Returns how many bytes of files the page cache can hold. Reads bypass the
  // page cache if the working set is larger.
  std::function<std::uint64_t()> page_cache_room = [] {
    return base::AvailableMemory();
  };
  // The bytes of pinned memory for reads past the page cache. When this memory
  // is used up, reads take other memory.
  std::size_t pinned_bytes = std::size_t{8} << 20;
  // The most bytes of such other memory that are kept for later reads.
  std::size_t spare_page_bytes = 0;
  // The options of the LocalSource for reads that a ring cannot do. The ring
  // takes buffers from the same pool.
  LocalSourceOptions pool;
  // Starts the ring's thread, as base::StartThread does.
  std::function<std::thread(std::function<void()>)> start_thread =
      base::StartThread;
};

// Reads files beneath LocalRoots through a ring of io_uring, on one thread
// named forebay-ring.
//
// Bytes that the page cache holds are copied at once. A read that has to wait
// for a disk goes into the ring. If the page cache holds little of what the job
// reads, the read goes past the cache. Reads begin in the order of the
// requests: a scheduler in front shares the disk among jobs. A file is read
// only while it is the version asked for.
//
// A LocalSource inside this source makes, on threads, the reads that a ring
// cannot do well:
// - files of other hosts;
// - files of file systems that cannot tell whether a read would wait;
// - files behind links and mount points that leave the root's file system,
//   unless pool.one_file_system refuses these.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads in flight and fails those that wait with
// CANCELLED. Read does not block. Errors are as ByteSource says;
// INVALID_ARGUMENT for a root that is not a LocalRoot. Calls no `done` with a
// lock held, nor on the caller's thread before Read returns.
class UringSource final : public ByteSource, public schedule::JobShares {
 public:
  // Makes a source. UNAVAILABLE, with the reason, if this host has no io_uring
  // or no thread for it.
  static absl::StatusOr<std::unique_ptr<UringSource>> Create(
      const UringSourceOptions& options);
  ~UringSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;
  void Forget(schedule::Flow job) override;

  // Returns the CPU nanoseconds of all reads, without the time of their `done`
  // and of the kernel's own threads.
  std::int64_t cpu_nanos() const { return cpu_nanos_ + pool_.cpu_nanos(); }

 private:
  // A read in flight.
  struct Task {
    ReadRequest read;
    bool past_cache = false;
    // Either `file` or `direct` is set once the file is open.
    base::Fd file = base::Fd();
    std::shared_ptr<const OpenFiles::File> direct = nullptr;
    // The revision of the file, once it is open.
    Revision revision = {};
    std::shared_ptr<std::uint8_t> buffer = nullptr;
    DirectRange range = {};  // the file's bytes that the buffer takes
    std::uint64_t filled = 0;

    int descriptor() const {
      return direct != nullptr ? direct->fd.get() : file.get();
    }
    Ring::File ring_file() const {
      if (direct == nullptr || !direct->number.has_value())
        return {descriptor()};
      return {static_cast<int>(*direct->number), /*registered=*/true};
    }
    // Returns the offset in the buffer at which the requested bytes begin.
    std::uint64_t lead() const { return read.offset - range.offset; }
    bool complete() const { return filled >= lead() + read.length; }
  };
  // A read whose `done` has not been called.
  struct Finished {
    ReadRequest read;
    absl::StatusOr<ReadResult> result;
  };

  UringSource(const UringSourceOptions& options, std::unique_ptr<Ring> ring,
              base::Fd wake);

  // Only the ring's thread calls the functions from here on. Work is its loop.
  void Work();
  // Takes the next read from the queue, if a slot is free.
  std::optional<ReadRequest> Next();
  // Adds the readers in `joined_` to the reads in slots, and passes them to
  // `pool_`.
  void TakeJoined();
  // Whether the thread can only wait for completions: no slot is free, or no
  // read is queued. If no read is queued, sets `asleep_`.
  bool MayWait();
  // Begins a read. The next steps are Open, Opened, a read through or past the
  // cache, and Verify.
  void Begin(ReadRequest read);
  void Open(Task task, const LocalRoot& root);
  void Opened(Task task);
  void ReadThroughCache(Task task);
  // Returns whether the task can be read past the page cache. If so, prepares
  // it. The task's buffer stays null if there is no memory.
  bool PreparePastCache(Task* task, const struct stat& stat);
  // Goes on with a task after `got` more bytes were read.
  void WasRead(Task task, std::uint64_t got);
  // Puts a read of the remaining bytes into the ring.
  void ReadOn(Task task);
  // Checks that the file is still the same, and finishes.
  void Verify(Task task);
  // Puts the task into a slot, for the operation that `prepare(id, task)` adds.
  template <typename Prepare>
  void Park(Task task, Prepare prepare);
  // Goes on with the task in a slot whose operation has completed.
  void Resume(std::uint64_t slot, int result);
  // Puts a read of the eventfd into the ring: other threads write to it to wake
  // the ring's thread. Also forgets jobs that have ended.
  void ListenForWake();
  // Ends or hands over a task whose path leaves the root's file system.
  void LeaveFileSystem(Task task);
  // Gives the read to `pool_`.
  void HandOver(Task task);
  void FinishRead(Task task, base::Bytes bytes);
  void Finish(Task task, absl::StatusOr<ReadResult> result);
  // Calls the `done` of the finished reads.
  void Answer();

  const bool direct_;
  const bool one_file_system_;
  const std::shared_ptr<BufferPool> buffers_;
  const std::shared_ptr<PagePool> pages_;
  const base::Clock* const cpu_clock_;
  const base::Fd wake_;  // an eventfd
  const std::unique_ptr<Ring> ring_;

  base::Mutex mutex_;
  std::deque<ReadRequest> queue_ ABSL_GUARDED_BY(mutex_);
  // Readers that joined reads which had left the queue by then. The ring's
  // thread takes them in TakeJoined.
  std::vector<std::pair<std::uint64_t, ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> forgotten_
      ABSL_GUARDED_BY(mutex_);  // jobs that have ended
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  // Only the ring's thread uses the members from here to `cpu_counted_`.
  PageCacheUse page_cache_;
  DirectFiles direct_files_;
  // The bytes of pages_ that the kernel keeps pinned.
  std::size_t pinned_ = 0;
  bool pinning_tried_ = false;
  OpenFiles open_files_;
  std::vector<std::optional<Task>> slots_;
  std::vector<std::size_t> free_slots_;
  std::vector<Finished> finished_;
  // Whether a read of the eventfd is in the ring.
  bool listening_ = false;
  std::uint64_t wakes_ = 0;  // the read of the eventfd fills it
  std::int64_t cpu_counted_ = 0;

  std::atomic<std::int64_t> cpu_nanos_ = 0;
  LocalSource pool_;
  std::thread thread_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_URING_SOURCE_H_
