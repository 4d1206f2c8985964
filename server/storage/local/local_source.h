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

struct LocalSourceOptions {
  int threads = 4;  // reads at once, at least 1, without those that hang
  // The most reads that may hang, each with a thread of its own, before the
  // others wait for them.
  int most_hung = 32;
  // A job with so many reads that hang gets no further ones until one ends. A
  // read that several jobs want passes while one of them may have more.
  int most_hung_of_job = 8;
  // Whether every object that lies on another file system than its root is
  // refused with WrongDomain (wrong_domain.h), and its file never opened.
  bool one_file_system = false;
  // Bytes of returned buffers for the next reads. Beside them a read holds its
  // length and up to a quarter more, until its last Bytes is gone.
  std::size_t spare_bytes = std::size_t{16} << 20;
  FileSystem* files = FileSystem::System();
  const base::Clock* clock = base::Clock::Monotonic();
  // Tells the CPU time of the calling thread.
  const base::Clock* cpu_clock = base::Clock::ThreadCpu();
  // Shared with other sources; null for a pool of its own with spare_bytes.
  std::shared_ptr<BufferPool> buffers = nullptr;
};

// Reads files beneath LocalRoots on threads of its own, named forebay-read-N,
// in the order of the requests: a scheduler in front shares them among jobs.
// Reads a file only while it is the version asked for. Threads begin when reads
// wait for one, and end when they idle. A read that takes far longer than usual
// (schedule/stall_threshold.h) hangs: another thread takes its thread's place,
// and an alarm's thread answers what its thread had read before.
//
// Thread-safe. The caller owns it; bytes that it gave may outlive it.
// Destruction completes the reads in flight and fails those that wait with
// CANCELLED. Read does not block. Errors as ByteSource says; a root that is no
// LocalRoot is INVALID_ARGUMENT. A read that finds no thread, because the
// system gives none, is UNAVAILABLE; its `done` is called before Read returns.
// Every other `done` is called on a thread of the source. No lock is held then.
class LocalSource final : public ByteSource {
 public:
  explicit LocalSource(const LocalSourceOptions& options = {});
  ~LocalSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Returns the CPU time of all reads, without that of their `done`.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }

 private:
  struct CompletedRead {
    ReadRequest read;
    absl::StatusOr<ReadResult> result;
  };

  // A thread that reads. Guarded by mutex_, but for `thread`.
  struct Reader {
    std::thread thread = {};
    std::int64_t begun_nanos = 0;  // of its read; 0: it has none
    std::uint64_t ticket = 0;      // of its read
    ReadPurpose purpose = {};      // of its read
    // The reads of its run that are done, but not answered yet.
    std::vector<CompletedRead> finished = {};
    bool hangs = false;
    bool ended = false;
  };
  using Readers = std::list<Reader>;

  void Work(Readers::iterator reader, int number);
  // Blocks until there is a read, and returns it; nullopt when the thread is to
  // end.
  std::optional<ReadRequest> Await(Readers::iterator reader);
  std::optional<ReadRequest> NextLocked(Readers::iterator reader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts the parked reads that may begin before those that wait.
  void UnparkLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The reader's read is done.
  void EndReadLocked(Reader& reader, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginToHangLocked(Reader& reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndToHangLocked(Reader& reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads `first`, and more as long as none has to wait, so that they share the
  // work around a read. Fills `run`, which is empty, with what is not answered.
  void ReadRun(Readers::iterator reader, ReadRequest first,
               std::vector<CompletedRead>* run);
  static void Answer(std::vector<CompletedRead>* reads);
  // Makes one more thread read: notifies it, or begins it. Returns false if
  // reads need no further thread, or may have none.
  bool WakeOrBeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes one more thread if reads wait, after one had to wait for a disk.
  void WakeAnother();
  // Finds readers that hang, has others take their places, and answers what
  // they had read.
  void LookForHung();
  // Has LookForHung called when the next reader may hang, if anything waits for
  // it. Returns false if the system refuses the alarm its thread.
  bool SetAlarmLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out the readers that have ended, to be joined without the mutex.
  Readers TakeEndedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;   // threads so far
  int active_ ABSL_GUARDED_BY(mutex_) = 0;  // that neither hang nor have ended
  int hung_ ABSL_GUARDED_BY(mutex_) = 0;
  HungReads hung_reads_ ABSL_GUARDED_BY(mutex_);
  // Reads of which every job has as many reads that hang as it may have.
  std::deque<ReadRequest> parked_ ABSL_GUARDED_BY(mutex_);
  int asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  int waking_ ABSL_GUARDED_BY(mutex_) = 0;  // of those asleep
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  schedule::StallThreshold stall_threshold_ ABSL_GUARDED_BY(mutex_);
  // Made when reads wait for threads for the first time.
  std::unique_ptr<base::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_H_
