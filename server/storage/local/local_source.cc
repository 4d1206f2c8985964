#include "server/storage/local/local_source.h"

#include <errno.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "server/base/check.h"
#include "server/base/start_thread.h"
#include "server/base/status.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/read_rules.h"
#include "server/storage/payers.h"

namespace forebay::storage::local {
namespace {

// A call of Read wakes one thread, and one more for each kReadsPerWake
// requests.
constexpr std::size_t kReadsPerWake = 256;
// The most reads that a thread makes before it calls their `done`: few compared
// with a batch.
constexpr std::size_t kRunReads = 16;
// A read that takes longer than this has waited for a disk. The same holds for
// a run whose thread had no CPU for longer than this.
constexpr std::int64_t kWaitNanos = 50'000;
// The most times that a file is read while its revision changes.
constexpr int kMaxTries = 5;
// A thread that gets no read for this long ends.
constexpr std::chrono::seconds kIdle{10};

// Reads from `offset` on until `bytes` is full or the file ends. Returns the
// number of bytes read, or minus errno.
std::int64_t ReadAt(FileSystem& files, int file, std::uint64_t offset,
                    absl::Span<std::uint8_t> bytes) {
  std::uint64_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        files.Pread(file, bytes.data() + filled, bytes.size() - filled,
                    static_cast<off_t>(offset + filled));
    if (got == -EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    filled += static_cast<std::uint64_t>(got);
  }
  return static_cast<std::int64_t>(filled);
}

absl::Status NoThread(const ReadRequest& request) {
  return FileError(absl::StatusCode::kUnavailable, request.object,
                   "the system gives the daemon no thread to read it");
}

}  // namespace

LocalSource::LocalSource(const LocalSourceOptions& options)
    : most_threads_(options.threads),
      most_hung_(options.most_hung),
      one_file_system_(options.one_file_system),
      files_(options.files),
      clock_(options.clock),
      cpu_clock_(options.cpu_clock),
      buffers_(options.buffers != nullptr
                   ? options.buffers
                   : std::make_shared<BufferPool>(options.spare_bytes)),
      hung_reads_(options.most_hung_of_job) {
  FOREBAY_CHECK(options.threads > 0);
}

LocalSource::~LocalSource() {
  Readers readers;
  std::unique_ptr<base::Alarm> alarm;
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
    alarm = std::move(alarm_);
  }
  alarm.reset();  // from here on no thread is begun
  read_or_end_.NotifyAll();
  {
    base::MutexLock lock(&mutex_);
    readers.swap(readers_);
  }
  for (Reader& reader : readers) reader.thread.join();
  std::deque<ReadRequest> left;
  {
    base::MutexLock lock(&mutex_);
    left.swap(queue_);
    std::move(parked_.begin(), parked_.end(), std::back_inserter(left));
    parked_.clear();
  }
  for (ReadRequest& request : left) request.done(ShuttingDown(request));
}

void LocalSource::Read(absl::Span<ReadRequest> requests) {
  std::deque<ReadRequest> refused;
  {
    base::MutexLock lock(&mutex_);
    for (ReadRequest& request : requests) queue_.push_back(std::move(request));
    // Only a few threads are woken: few threads read the page cache fastest,
    // because there are fewer context switches. After a read had to wait for a
    // disk, one more thread is woken.
    const std::size_t wanted = 1 + requests.size() / kReadsPerWake;
    for (std::size_t i = 0; i < wanted; ++i) WakeOrBeginLocked();
    if (!SetAlarmLocked() && active_ == 0) refused.swap(queue_);
  }
  for (ReadRequest& request : refused) request.done(NoThread(request));
}

void LocalSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  if (ticket == 0) return;
  base::MutexLock lock(&mutex_);
  for (Reader& reader : readers_) {
    if (reader.begun_nanos == 0 || reader.ticket != ticket) continue;
    if (reader.hangs) hung_reads_.Remove(reader.purpose);
    AddPayers(purpose, &reader.purpose);
    if (reader.hangs) hung_reads_.Add(reader.purpose);
    return;
  }
  for (ReadRequest& request : queue_) {
    if (request.ticket == ticket) return AddPayers(purpose, &request.purpose);
  }
  for (ReadRequest& request : parked_) {
    if (request.ticket != ticket) continue;
    AddPayers(purpose, &request.purpose);
    UnparkLocked();
    WakeOrBeginLocked();
    SetAlarmLocked();
    return;
  }
}

bool LocalSource::WakeOrBeginLocked() {
  // Threads that are waking will read, too.
  if (ending_ || static_cast<std::size_t>(waking_) >= queue_.size())
    return false;
  if (asleep_ > waking_) {
    ++waking_;
    read_or_end_.NotifyOne();
    return true;
  }
  if (active_ >= most_threads_) return false;
  readers_.emplace_back();
  const auto reader = std::prev(readers_.end());
  reader->thread = base::StartThread(
      [this, reader, number = begun_] { Work(reader, number); });
  if (!reader->thread.joinable()) {
    readers_.erase(reader);  // the alarm tries again
    return false;
  }
  ++begun_;
  ++active_;
  return true;
}

void LocalSource::Work(Readers::iterator reader, int number) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-read-%u",
                static_cast<unsigned>(number) % 100);
  pthread_setname_np(pthread_self(), name);

  std::vector<CompletedRead> run;
  run.reserve(kRunReads);
  while (std::optional<ReadRequest> next = Await(reader)) {
    ReadRun(reader, *std::move(next), &run);
    Answer(&run);
  }
}

std::optional<ReadRequest> LocalSource::Await(Readers::iterator reader) {
  Readers ended;
  {
    base::MutexLock lock(&mutex_);
    bool idles = false;
    while (!ending_ && active_ <= most_threads_) {
      if (std::optional<ReadRequest> next = NextLocked(reader)) return next;
      if (idles) break;
      ++asleep_;
      idles = !read_or_end_.WaitFor(&mutex_, kIdle);
      --asleep_;
      if (waking_ > 0) --waking_;
    }
    if (ending_) return std::nullopt;
    --active_;
    ended = TakeEndedLocked();
    reader->ended = true;
  }
  for (Reader& other : ended) other.thread.join();
  return std::nullopt;
}

LocalSource::Readers LocalSource::TakeEndedLocked() {
  Readers ended;
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    const auto next = std::next(reader);
    if (reader->ended) ended.splice(ended.end(), readers_, reader);
    reader = next;
  }
  return ended;
}

std::optional<ReadRequest> LocalSource::NextLocked(Readers::iterator reader) {
  while (!ending_ && !queue_.empty()) {
    ReadRequest next = std::move(queue_.front());
    queue_.pop_front();
    if (!hung_reads_.MayBegin(next.purpose)) {
      parked_.push_back(std::move(next));
      continue;
    }
    reader->ticket = next.ticket;
    reader->purpose = next.purpose;
    reader->begun_nanos = clock_->NowNanos();
    return next;
  }
  return std::nullopt;
}

void LocalSource::UnparkLocked() {
  std::deque<ReadRequest> parked = std::exchange(parked_, {});
  std::deque<ReadRequest> unparked;
  for (ReadRequest& request : parked) {
    const bool may_begin = hung_reads_.MayBegin(request.purpose);
    (may_begin ? unparked : parked_).push_back(std::move(request));
  }
  std::move(unparked.rbegin(), unparked.rend(), std::front_inserter(queue_));
}

void LocalSource::EndReadLocked(Reader& reader, std::int64_t now_nanos) {
  stall_threshold_.Observe(now_nanos - reader.begun_nanos);
  reader.begun_nanos = 0;
  if (reader.hangs) EndToHangLocked(reader);
}

void LocalSource::BeginToHangLocked(Reader& reader) {
  reader.hangs = true;
  --active_;
  ++hung_;
  hung_reads_.Add(reader.purpose);
}

void LocalSource::EndToHangLocked(Reader& reader) {
  reader.hangs = false;
  ++active_;
  --hung_;
  hung_reads_.Remove(reader.purpose);
  UnparkLocked();
  WakeOrBeginLocked();
  SetAlarmLocked();  // further readers may be marked now
}

void LocalSource::ReadRun(Readers::iterator reader, ReadRequest first,
                          std::vector<CompletedRead>* run) {
  std::optional<ReadRequest> next = std::move(first);
  const std::int64_t cpu_begun = cpu_clock_->NowNanos();
  const std::int64_t begun = clock_->NowNanos();
  std::int64_t now = begun;
  for (std::size_t reads = 1; next.has_value(); ++reads) {
    auto result = ReadFile(*next);
    const std::int64_t read_begun = std::exchange(now, clock_->NowNanos());
    const bool waited = now - read_begun > kWaitNanos;
    base::MutexLock lock(&mutex_);
    EndReadLocked(*reader, now);
    reader->finished.push_back(
        {*std::exchange(next, std::nullopt), std::move(result)});
    if (!waited && reads < kRunReads && active_ <= most_threads_)
      next = NextLocked(reader);
    if (!next.has_value()) run->swap(reader->finished);
  }
  const std::int64_t cpu = cpu_clock_->NowNanos() - cpu_begun;
  cpu_nanos_ += cpu;
  if (now - begun - cpu > kWaitNanos) WakeAnother();
}

void LocalSource::Answer(std::vector<CompletedRead>* reads) {
  for (CompletedRead& completed : *reads)
    completed.read.done(std::move(completed.result));
  reads->clear();
}

void LocalSource::WakeAnother() {
  base::MutexLock lock(&mutex_);
  WakeOrBeginLocked();
}

void LocalSource::LookForHung() {
  std::vector<CompletedRead> finished;
  {
    base::MutexLock lock(&mutex_);
    const std::int64_t now = clock_->NowNanos();
    for (Reader& reader : readers_) {
      if (reader.begun_nanos == 0 ||
          now - reader.begun_nanos < stall_threshold_.nanos())
        continue;
      std::move(reader.finished.begin(), reader.finished.end(),
                std::back_inserter(finished));
      reader.finished.clear();
      if (!reader.hangs && hung_ < most_hung_) BeginToHangLocked(reader);
    }
    // Many of the queued reads may hang, so all threads try them at once.
    while ((hung_ > 0 || active_ == 0) && WakeOrBeginLocked()) {
    }
    SetAlarmLocked();
  }
  Answer(&finished);
}

bool LocalSource::SetAlarmLocked() {
  if (ending_) return true;
  const std::int64_t threshold = stall_threshold_.nanos();
  std::int64_t at = clock_->NowNanos() + threshold;
  bool is_needed = !queue_.empty();
  for (const Reader& reader : readers_) {
    if (reader.hangs || reader.begun_nanos == 0) continue;
    const bool holds_answers = !reader.finished.empty();
    is_needed = is_needed || holds_answers;
    // The alarm can do nothing for a reader that may not be marked.
    if (hung_ < most_hung_ || holds_answers)
      at = std::min(at, reader.begun_nanos + threshold);
  }
  if (!is_needed) return true;
  if (alarm_ == nullptr) {
    alarm_ = std::make_unique<base::Alarm>(
        "forebay-hung", [this] { LookForHung(); }, clock_);
  }
  return alarm_->SetFor(at);
}

absl::StatusOr<base::Fd> LocalSource::OpenFile(const LocalRoot& root,
                                               const std::string& object) {
  return one_file_system_ ? files_->OpenWithin(root, object)
                          : files_->Open(root, object);
}

absl::StatusOr<Revision> LocalSource::CheckFile(const LocalRoot& root, int file,
                                                const ReadRequest& request) {
  struct stat stat;
  if (const int error = files_->Stat(file, &stat); error < 0)
    return FileError(-error, request.object);
  return CheckVersion(root, request, file, stat);
}

absl::StatusOr<ReadResult> LocalSource::ReadFile(const ReadRequest& request) {
  FOREBAY_ASSIGN_OR_RETURN(const LocalRoot* const root, LocalRootOf(request));
  FOREBAY_RETURN_IF_ERROR(CheckRange(request));
  for (int tries = 0; tries < kMaxTries; ++tries) {
    FOREBAY_ASSIGN_OR_RETURN(std::optional<ReadResult> result,
                             TryToRead(*root, request));
    if (result.has_value()) return *std::move(result);
  }
  return FileError(absl::StatusCode::kUnavailable, request.object,
                   "is being changed while it is read");
}

absl::StatusOr<std::optional<ReadResult>> LocalSource::TryToRead(
    const LocalRoot& root, const ReadRequest& request) {
  FOREBAY_ASSIGN_OR_RETURN(const base::Fd file, OpenFile(root, request.object));
  FOREBAY_ASSIGN_OR_RETURN(const Revision revision,
                           CheckFile(root, file.get(), request));
  ReadResult result = {.bytes = {}, .revision = revision};
  if (request.unless == revision) return result;

  std::shared_ptr<std::uint8_t> buffer = buffers_->Take(request.length);
  if (buffer == nullptr) return FileError(ENOMEM, request.object);
  const std::int64_t got = ReadAt(*files_, file.get(), request.offset,
                                  {buffer.get(), request.length});
  if (got < 0) return FileError(static_cast<int>(-got), request.object);
  const auto filled = static_cast<std::uint64_t>(got);
  // If the file was written meanwhile, the bytes may be a mix of two versions.
  FOREBAY_ASSIGN_OR_RETURN(const Revision after,
                           CheckFile(root, file.get(), request));
  if (after != revision) return std::nullopt;
  if (filled < request.length) return EndsEarly(request, filled);
  if (request.version.revision.transaction_id != 0) {
    FOREBAY_RETURN_IF_ERROR(CheckTransactionId(
        request, [&](std::uint64_t offset, absl::Span<std::uint8_t> bytes) {
          return ReadAt(*files_, file.get(), offset, bytes) ==
                 static_cast<std::int64_t>(bytes.size());
        }));
  }
  const absl::Span<const std::uint8_t> span(buffer.get(), request.length);
  result.bytes = base::Bytes(std::move(buffer), span);
  return result;
}

}  // namespace forebay::storage::local
