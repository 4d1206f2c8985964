#include "server/storage/local/local_source.h"

#include <errno.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/read_rules.h"

namespace forebay::storage::local {
namespace {

constexpr std::size_t kReadsPerWake = 256;
// The reads of a thread before it calls any `done`: little beside a batch.
constexpr std::size_t kRunReads = 16;
// A read that was idle for so long waited for a disk.
constexpr std::int64_t kWaitNanos = 50'000;
// The most reads of a file whose ctime changes meanwhile.
constexpr int kMaxTries = 5;

// Returns how many bytes the file has there, up to those wanted, or minus
// errno.
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

}  // namespace

LocalSource::LocalSource(const LocalSourceOptions& options)
    : files_(options.files),
      clock_(options.clock),
      cpu_clock_(options.cpu_clock),
      buffers_(options.buffers != nullptr
                   ? options.buffers
                   : std::make_shared<BufferPool>(options.spare_bytes)) {
  FOREBAY_CHECK(options.threads > 0);
  threads_.reserve(options.threads);
  for (int thread = 0; thread < options.threads; ++thread)
    threads_.emplace_back([this, thread] { Work(thread); });
}

LocalSource::~LocalSource() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  read_or_end_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  std::deque<ReadRequest> left;
  {
    base::MutexLock lock(&mutex_);
    left.swap(queue_);
  }
  for (ReadRequest& request : left) request.done(ShuttingDown(request));
}

void LocalSource::Read(absl::Span<ReadRequest> requests) {
  int wake = 0;
  {
    base::MutexLock lock(&mutex_);
    for (ReadRequest& request : requests) queue_.push_back(std::move(request));
    // Few threads read the page cache fastest, without switches; more join when
    // a read had to wait.
    wake = std::min(asleep_ - waking_,
                    1 + static_cast<int>(requests.size() / kReadsPerWake));
    waking_ += std::max(wake, 0);
  }
  for (; wake > 0; --wake) read_or_end_.NotifyOne();
}

void LocalSource::Work(int thread) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-read-%d", thread);
  pthread_setname_np(pthread_self(), name);

  std::vector<CompletedRead> run;
  run.reserve(kRunReads);
  while (std::optional<ReadRequest> next = Await()) {
    ReadRun(*std::move(next), &run);
    for (CompletedRead& completed : run)
      completed.read.done(std::move(completed.result));
    run.clear();
  }
}

std::optional<ReadRequest> LocalSource::Await() {
  base::MutexLock lock(&mutex_);
  while (!ending_) {
    if (std::optional<ReadRequest> next = NextLocked()) return next;
    ++asleep_;
    read_or_end_.Wait(&mutex_);
    --asleep_;
    if (waking_ > 0) --waking_;
  }
  return std::nullopt;
}

std::optional<ReadRequest> LocalSource::NextLocked() {
  if (ending_ || queue_.empty()) return std::nullopt;
  ReadRequest next = std::move(queue_.front());
  queue_.pop_front();
  return next;
}

void LocalSource::ReadRun(ReadRequest first, std::vector<CompletedRead>* run) {
  std::optional<ReadRequest> next = std::move(first);
  const std::int64_t cpu_begun = cpu_clock_->NowNanos();
  const std::int64_t begun = clock_->NowNanos();
  std::int64_t now = begun;
  while (next.has_value()) {
    auto result = ReadFile(*next);
    run->push_back({*std::exchange(next, std::nullopt), std::move(result)});
    const std::int64_t read_begun = std::exchange(now, clock_->NowNanos());
    if (now - read_begun > kWaitNanos || run->size() == kRunReads) break;
    base::MutexLock lock(&mutex_);
    next = NextLocked();
  }
  const std::int64_t cpu = cpu_clock_->NowNanos() - cpu_begun;
  cpu_nanos_ += cpu;
  if (now - begun - cpu > kWaitNanos) WakeAnother();
}

void LocalSource::WakeAnother() {
  base::MutexLock lock(&mutex_);
  if (queue_.empty() || asleep_ <= waking_) return;
  ++waking_;
  read_or_end_.NotifyOne();
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
  FOREBAY_ASSIGN_OR_RETURN(const base::Fd file,
                           files_->Open(root, request.object));
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
  // A writer during the read would give us half of each version.
  FOREBAY_ASSIGN_OR_RETURN(const Revision after,
                           CheckFile(root, file.get(), request));
  if (after != revision) return std::nullopt;
  if (filled < request.length) return EndsEarly(request, filled);
  if (request.version.revision.mark != 0) {
    FOREBAY_RETURN_IF_ERROR(CheckMark(
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
