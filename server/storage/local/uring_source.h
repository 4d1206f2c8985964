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
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/cgroup.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
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
  // Whether files may be read past the page cache, where their file system can
  // do so.
  bool direct = true;
  // How many bytes of files the page cache can hold: where that is less than
  // what is read, reads go past it.
  std::function<std::uint64_t()> page_cache_room = [] {
    return base::AvailableMemory();
  };
  // Memory for such reads that the kernel is to keep pinned; beyond it they
  // take memory of their own.
  std::size_t pinned_bytes = std::size_t{8} << 20;
  // Of what they took beyond it, what is kept for the next ones.
  std::size_t spare_page_bytes = 0;
  // The threads for what a ring cannot do; the ring shares their buffers.
  LocalSourceOptions pool;
};

// Reads files beneath LocalRoots through a ring of io_uring, on one thread
// named forebay-ring. What the page cache holds is copied at once. What has to
// wait for a disk goes into the ring, past the page cache where that has turned
// out to hold little of what the job reads. What a ring cannot do well (links
// that leave the root, files of other hosts, file systems that cannot tell
// whether a read would wait) is read by a LocalSource within, on threads. Reads
// begin in the order in which they are asked for: who is to share the disk
// among jobs stands in front. A file is read only while it is the version asked
// for.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads that are under way and fails those that wait
// with CANCELLED. Read does not block. Errors as ByteSource says; a root that
// is no LocalRoot is INVALID_ARGUMENT. No `done` is called with a lock held,
// and none before Read returns on the caller's thread.
class UringSource final : public ByteSource, public schedule::JobShares {
 public:
  // UNAVAILABLE: there is no io_uring here; says why.
  static absl::StatusOr<std::unique_ptr<UringSource>> Create(
      const UringSourceOptions& options);
  ~UringSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Forget(schedule::Flow job) override;

  // Reads that wait for their turn.
  std::size_t queued() const;
  // CPU time that reading has taken, what was done with the bytes left out, and
  // what the kernel's own threads did.
  std::int64_t cpu_nanos() const { return cpu_nanos_ + pool_.cpu_nanos(); }

 private:
  // A read that was begun.
  struct Task {
    ReadRequest read;
    bool past_cache = false;
    // One of them; neither: it is being opened.
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
    // Where in the buffer the bytes begin that were asked for.
    std::uint64_t lead() const { return read.offset - range.offset; }
    bool complete() const { return filled >= lead() + read.length; }
  };
  struct Finished {
    ReadRequest read;
    absl::StatusOr<ReadResult> result;
  };

  UringSource(const UringSourceOptions& options, std::unique_ptr<Ring> ring,
              base::Fd wake);

  // The ring's thread, and what it alone does.
  void Work();
  std::optional<ReadRequest> Next();
  bool MayWait();
  void Begin(ReadRequest read);
  void Open(Task task, const LocalRoot& root);
  void Opened(Task task);
  void ReadThroughCache(Task task);
  // Whether the task can be read so; its buffer is null where memory is spent.
  bool PreparePastCache(Task* task, const struct stat& stat);
  void WasRead(Task task, std::uint64_t got);
  void ReadOn(Task task);
  void Verify(Task task);
  static absl::StatusOr<Revision> CheckFile(const Task& task,
                                            struct stat* stat);
  // Whether the object's name stands for the open file, whose stat that is.
  static bool IsNamed(const Task& task, const struct stat& stat);
  // Puts the task into a slot, for what `prepare(id, task)` has the ring do.
  template <typename Prepare>
  void Park(Task task, Prepare prepare);
  void Resume(std::uint64_t slot, int result);
  void ListenForWake();
  void HandOver(Task task);
  void FinishRead(Task task, base::Bytes bytes);
  void Finish(Task task, absl::StatusOr<ReadResult> result);
  // Hands on what is finished.
  void Answer();

  const bool direct_;
  const std::shared_ptr<BufferPool> buffers_;
  const std::shared_ptr<PagePool> pages_;
  const base::Clock* const cpu_clock_;
  const base::Fd wake_;  // an eventfd
  const std::unique_ptr<Ring> ring_;

  mutable base::Mutex mutex_;
  std::deque<ReadRequest> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> forgotten_ ABSL_GUARDED_BY(mutex_);  // jobs
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  // The ring's thread's own.
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
