#ifndef FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/schedule/fair_queue.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/buffer_pool.h"
#include "server/storage/local/file_system.h"

namespace forebay::storage::local {

struct LocalSourceOptions {
  int threads = 4;  // reads at once, at least 1
  // Bytes of spent buffers kept for the next reads. Beside them a read holds
  // its length and up to a quarter more, until its last Bytes is gone.
  std::size_t spare_bytes = std::size_t{16} << 20;
  FileSystem* files = FileSystem::System();
  const base::Clock* clock = base::Clock::Monotonic();
  // Tells the CPU time of the thread that asks.
  const base::Clock* cpu_clock = base::Clock::ThreadCpu();
  // Shared with others; null: its own, which keeps spare_bytes.
  std::shared_ptr<BufferPool> buffers = nullptr;
};

// Reads files beneath LocalRoots on threads of its own, named forebay-read-N.
// Jobs share the threads by weight and bytes; within a job the most urgent read
// goes first. A file is read only while it is the version asked for.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads that are under way and fails those that wait
// with CANCELLED. Read does not block. Errors as ByteSource says; a root that
// is no LocalRoot is INVALID_ARGUMENT. No `done` is called with a lock held,
// and none before Read returns on the caller's thread.
class LocalSource final : public ByteSource {
 public:
  explicit LocalSource(const LocalSourceOptions& options = {});
  ~LocalSource() override;

  void Read(absl::Span<ReadRequest> requests) override;

  void SetWeight(std::uint64_t job, double weight) override;
  void Forget(std::uint64_t job) override;

  // Reads that wait for a thread.
  std::size_t queued() const;
  // Reads that a thread works on.
  std::size_t in_flight() const;
  // CPU time that reading has taken, what was done with the bytes left out.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }

 private:
  using Popped = schedule::FairQueue<ReadRequest>::Popped;
  struct Finished {
    Popped read;
    absl::StatusOr<base::Bytes> bytes;
  };

  void Work(int thread);
  // The next read; nullopt at the end. Blocks until there is one.
  std::optional<Popped> Await();
  // Reads `first`, and more as long as none has to wait: what surrounds a read
  // is then done for all of them at once. Fills `run`, which is empty.
  void ReadRun(Popped first, std::vector<Finished>* run);
  // Takes finished reads off the books; `waited`: one had to wait for a disk.
  void Complete(const std::vector<Finished>& run, bool waited);
  absl::Status CheckFile(int file, const ReadRequest& request);
  absl::StatusOr<base::Bytes> ReadFile(const ReadRequest& request);

  FileSystem* const files_;
  const base::Clock* const clock_;
  const base::Clock* const cpu_clock_;
  std::atomic<std::int64_t> cpu_nanos_ = 0;
  const std::shared_ptr<BufferPool> buffers_;
  mutable base::Mutex mutex_;
  base::CondVar read_or_end_;
  schedule::FairQueue<ReadRequest> queue_ ABSL_GUARDED_BY(mutex_);
  int asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  int waking_ ABSL_GUARDED_BY(mutex_) = 0;  // of those asleep
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_
