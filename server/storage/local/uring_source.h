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

struct UringSourceOptions {
  unsigned depth = 64;  // operations that wait for the disk at once, 1 to 4096
  // Whether files may be read past the page cache, if their file system can do
  // so.
  bool direct = true;
  // Returns how many bytes of files the page cache can hold. Reads go past it
  // if the working set is larger.
  std::function<std::uint64_t()> page_cache_room = [] {
    return base::AvailableMemory();
  };
  // Memory for such reads that the kernel keeps pinned; beyond it they take
  // other memory.
  std::size_t pinned_bytes = std::size_t{8} << 20;
  // Of that other memory, the bytes that are kept for later reads.
  std::size_t spare_page_bytes = 0;
  // The threads for reads that a ring cannot do; the ring shares their buffers.
  LocalSourceOptions pool;
  // Starts the ring's thread, as base::StartThread does.
  std::function<std::thread(std::function<void()>)> start_thread =
      base::StartThread;
};

// Reads files beneath LocalRoots through a ring of io_uring, on one thread
// named forebay-ring. Copies bytes that the page cache holds at once. A read
// that has to wait for a disk goes into the ring, and past the page cache if
// that holds little of what the job reads. A LocalSource within makes, on
// threads, the reads that a ring cannot do well: links and mount points that
// leave the root's file system (which pool.one_file_system refuses), files of
// other hosts, file systems that cannot tell whether a read would wait. Reads
// begin in the order of the requests: a scheduler in front shares the disk
// among jobs. Reads a file only while it is the version asked for.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads in flight and fails those that wait with
// CANCELLED. Read does not block. Errors as ByteSource says; a root that is no
// LocalRoot is INVALID_ARGUMENT. Calls no `done` with a lock held, nor on the
// caller's thread before Read returns.
class UringSource final : public ByteSource, public schedule::JobShares {
 public:
  // UNAVAILABLE: there is no io_uring here, or no thread; says why.
  static absl::StatusOr<std::unique_ptr<UringSource>> Create(
      const UringSourceOptions& options);
  ~UringSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;
  void Forget(schedule::Flow job) override;

  // Returns the CPU time of all reads, without that of their `done` and of the
  // kernel's own threads.
  std::int64_t cpu_nanos() const { return cpu_nanos_ + pool_.cpu_nanos(); }

 private:
  // A read in flight.
  struct Task {
    ReadRequest read;
    bool past_cache = false;
    // One of them is set once the file is open.
    base::Fd file = base::Fd();
    std::shared_ptr<const OpenFiles::File> direct = nullptr;
    Revision revision = {};  // of the file, once it is opened
    std::shared_ptr<std::uint8_t> buffer = nullptr;
    DirectRange range = {};  // what the buffer takes of the file
    std::uint64_t filled = 0;

    int descriptor() const {
      return direct != nullptr ? direct->fd.get() : file.get();
    }
    Ring::File ring_file() const {
      if (direct == nullptr || !direct->number.has_value())
        return {descriptor()};
      return {static_cast<int>(*direct->number), /*registered=*/true};
    }
    // Returns where the requested bytes begin in the buffer.
    std::uint64_t lead() const { return read.offset - range.offset; }
    bool complete() const { return filled >= lead() + read.length; }
  };
  struct Finished {
    ReadRequest read;
    absl::StatusOr<ReadResult> result;
  };

  UringSource(const UringSourceOptions& options, std::unique_ptr<Ring> ring,
              base::Fd wake);

  // Only the ring's thread calls these.
  void Work();
  std::optional<ReadRequest> Next();
  // Adds who joined reads to those in slots, and to those of the threads.
  void TakeJoined();
  bool MayWait();
  void Begin(ReadRequest read);
  void Open(Task task, const LocalRoot& root);
  void Opened(Task task);
  void ReadThroughCache(Task task);
  // Returns whether the task can be read so; its buffer is null if there is no
  // memory.
  bool PreparePastCache(Task* task, const struct stat& stat);
  void WasRead(Task task, std::uint64_t got);
  void ReadOn(Task task);
  void Verify(Task task);
  // Puts the task into a slot, for the operation that `prepare(id, task)` adds.
  template <typename Prepare>
  void Park(Task task, Prepare prepare);
  void Resume(std::uint64_t slot, int result);
  void ListenForWake();
  // The way to the file leaves the root's file system.
  void LeaveFileSystem(Task task);
  void HandOver(Task task);
  void FinishRead(Task task, base::Bytes bytes);
  void Finish(Task task, absl::StatusOr<ReadResult> result);
  // Calls `done` of the finished reads.
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
  // Joins of reads that have left the queue, until the ring's thread looks.
  std::vector<std::pair<std::uint64_t, ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> forgotten_ ABSL_GUARDED_BY(mutex_);  // jobs
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  // Only the ring's thread uses these.
  PageCacheUse page_cache_;
  DirectFiles direct_files_;
  std::size_t pinned_ = 0;  // bytes of pages_ that the kernel keeps pinned
  bool pinning_tried_ = false;
  OpenFiles open_files_;
  std::vector<std::optional<Task>> slots_;
  std::vector<std::size_t> free_slots_;
  std::vector<Finished> finished_;
  bool listening_ = false;   // to the eventfd
  std::uint64_t wakes_ = 0;  // what it gives
  std::int64_t cpu_counted_ = 0;

  std::atomic<std::int64_t> cpu_nanos_ = 0;
  LocalSource pool_;
  std::thread thread_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_URING_SOURCE_H_
