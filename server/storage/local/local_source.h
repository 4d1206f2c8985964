#ifndef FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/schedule/stall_threshold.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/file_system.h"
#include "server/storage/local/hung_reads.h"

namespace forebay::storage::local {

// The threads of a LocalSource, its limits, and the objects that it uses.
struct LocalSourceOptions {
  // The most threads that read at once, not counting those whose reads hang; at
  // least 1.
  int threads = 4;
  // The most reads that may hang, each on a thread of its own. If more reads
  // hang, each further one occupies one of the `threads`.
  int most_hung = 32;
  // The most reads of a job that may hang. A job with this many gets no further
  // reads until one of them ends. A read that several jobs want may begin if at
  // least one of them has fewer reads that hang.
  int most_hung_of_job = 8;
  // Whether to answer WrongDomain (wrong_domain.h) for each object that lies on
  // another file system than its root, without opening its file.
  bool one_file_system = false;
  // The number of bytes of returned buffers that are kept for later reads. A
  // read also holds HeldBytes until the last copy of its Bytes is gone.
  std::size_t spare_bytes = std::size_t{16} << 20;
  FileSystem* files = FileSystem::System();
  const base::Clock* clock = base::Clock::Monotonic();
  // Tells the CPU time of the calling thread.
  const base::Clock* cpu_clock = base::Clock::ThreadCpu();
  // The pool of buffers that this source shares with others. If null, the
  // source makes its own, which keeps `spare_bytes`.
  std::shared_ptr<BufferPool> buffers = nullptr;
};

// Reads files beneath LocalRoots on threads of its own, named forebay-read-N.
//
// Reads begin in the order of the requests: a scheduler in front shares them
// among jobs. A file is read only while it is the version asked for. Threads
// begin when reads wait for one, and end when they idle. A read that takes far
// longer than usual (schedule/stall_threshold.h) is said to hang. Another
// thread then takes the place of the hanging thread. The thread forebay-hung
// answers the reads that the hanging thread had finished before.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads in flight and fails those that wait with
// CANCELLED. Read does not block.
//
// Errors are as ByteSource says; INVALID_ARGUMENT for a root that is not a
// LocalRoot. Reads for which the system gives no thread are UNAVAILABLE: Read
// calls their `done` before it returns. The destructor calls the `done` of
// cancelled reads. Every other `done` is called on a thread of the source. No
// lock is held during `done`.
class LocalSource final : public ByteSource {
 public:
  explicit LocalSource(const LocalSourceOptions& options = {});
  ~LocalSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Returns the CPU nanoseconds of all reads, without the time of their `done`.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }

 private:
  // A read whose `done` has not been called.
  struct CompletedRead {
    ReadRequest read;
    absl::StatusOr<ReadResult> result;
  };

  // A thread that reads. mutex_ guards all members but `thread`.
  struct Reader {
    std::thread thread = {};
    // When the reader began its present read; 0 if it is not reading.
    std::int64_t begun_nanos = 0;
    std::uint64_t ticket = 0;  // of that read
    ReadPurpose purpose = {};  // of that read
    // The finished reads of the reader's present run, whose `done` is not
    // called yet.
    std::vector<CompletedRead> finished = {};
    bool hangs = false;
    bool ended = false;
  };
  using Readers = std::list<Reader>;

  // The loop of a reader's thread.
  void Work(Readers::iterator reader, int number);
  // Blocks until there is a read, and returns it. Returns nullopt when the
  // thread is to end.
  std::optional<ReadRequest> Await(Readers::iterator reader);
  // Takes from `queue_`, for `reader`, the next read that may begin. Moves to
  // `parked_` the reads whose jobs have too many reads that hang.
  std::optional<ReadRequest> NextLocked(Readers::iterator reader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the parked reads that may begin now to the front of `queue_`.
  void UnparkLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes note that the reader's read is done.
  void EndReadLocked(Reader& reader, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Marks a reader whose read hangs. EndToHangLocked removes the mark.
  void BeginToHangLocked(Reader& reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndToHangLocked(Reader& reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the read `first`, and then further ones until a read has to wait for
  // a disk. The reads of such a run share two readings of the CPU clock. Fills
  // `run`, which is empty, with the reads to answer.
  void ReadRun(Readers::iterator reader, ReadRequest first,
               std::vector<CompletedRead>* run);
  // Calls the `done` of the reads.
  static void Answer(std::vector<CompletedRead>* reads);
  // Notifies a sleeping thread, or begins a new one. Returns false if the
  // queued reads need no further thread, or if no further thread may begin.
  bool WakeOrBeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes one more thread if reads are queued. ReadRun calls it after a read
  // had to wait for a disk.
  void WakeAnother();
  // Marks the readers whose reads hang, lets other threads take their places,
  // and answers the reads that they had finished.
  void LookForHung();
  // Sets the alarm that calls LookForHung to the time when the next reader may
  // hang, if queued reads or unanswered reads depend on it. Returns false if
  // the system gives the alarm no thread.
  bool SetAlarmLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the readers that have ended, whose threads the caller joins without
  // the mutex.
  Readers TakeEndedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OpenFile, CheckFile and TryToRead are the steps of a read. ReadFile repeats
  // them while the file's revision changes.
  absl::StatusOr<base::Fd> OpenFile(const LocalRoot& root,
                                    const std::string& object);
  absl::StatusOr<Revision> CheckFile(const LocalRoot& root, int file,
                                     const ReadRequest& request);
  absl::StatusOr<ReadResult> ReadFile(const ReadRequest& request);
  // Returns nullopt if the file's revision changed while it was read.
  absl::StatusOr<std::optional<ReadResult>> TryToRead(
      const LocalRoot& root, const ReadRequest& request);

  const int most_threads_;
  const int most_hung_;
  const bool one_file_system_;
  FileSystem* const files_;
  const base::Clock* const clock_;
  const base::Clock* const cpu_clock_;
  std::atomic<std::int64_t> cpu_nanos_ = 0;
  const std::shared_ptr<BufferPool> buffers_;
  base::Mutex mutex_;
  base::CondVar read_or_end_;
  std::deque<ReadRequest> queue_ ABSL_GUARDED_BY(mutex_);
  Readers readers_ ABSL_GUARDED_BY(mutex_);
  // The threads that have begun so far.
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of threads that neither hang nor have ended.
  int active_ ABSL_GUARDED_BY(mutex_) = 0;
  int hung_ ABSL_GUARDED_BY(mutex_) = 0;
  HungReads hung_reads_ ABSL_GUARDED_BY(mutex_);
  // Reads that may not begin yet: each of their jobs has most_hung_of_job reads
  // that hang.
  std::deque<ReadRequest> parked_ ABSL_GUARDED_BY(mutex_);
  int asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of sleeping threads that were notified.
  int waking_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  schedule::StallThreshold stall_threshold_ ABSL_GUARDED_BY(mutex_);
  // The thread forebay-hung; null until reads wait for threads for the first
  // time.
  std::unique_ptr<base::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_
