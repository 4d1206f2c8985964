#include "server/storage/local/uring_source.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/read_rules.h"
#include "server/storage/local/without_waiting.h"
#include "server/storage/payers.h"

// A read has five steps: open, fstat, read, fstat again, close. Each step is
// first tried by a system call that does not wait. This is the cheapest way to
// bytes in the kernel's caches, and completes the read on the spot. If a step
// would wait, the read takes a slot, and the ring does the step. When the step
// completes, Resume goes on from there. On the file systems that a ring reads,
// neither fstat nor close waits. A file that is read in parts, past the page
// cache, stays open.

namespace forebay::storage::local {
namespace {

// The most reads that the thread makes on the spot before it calls any `done`
// and looks for completions: few compared with a batch.
constexpr std::size_t kRunReads = 16;
// The id of the eventfd's read. The ids of other operations are their slots.
constexpr std::uint64_t kWakeId = UINT64_MAX;

// The most files that are read in parts and stay open.
constexpr std::size_t kMaxOpenFiles = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<UringSource>> UringSource::Create(
    const UringSourceOptions& options) {
  FOREBAY_CHECK(options.depth > 0);
  FOREBAY_RETURN_IF_ERROR(Ring::Probe());
  // The read of the eventfd takes one more entry of the ring.
  FOREBAY_ASSIGN_OR_RETURN(std::unique_ptr<Ring> ring,
                           Ring::Create(options.depth + 1));
  base::Fd wake(eventfd(0, EFD_CLOEXEC));
  if (!wake) return base::ErrnoStatus(errno, "eventfd");
  UringSourceOptions shared = options;
  if (shared.pool.buffers == nullptr)
    shared.pool.buffers =
        std::make_shared<BufferPool>(options.pool.spare_bytes);
  std::unique_ptr<UringSource> source(
      new UringSource(shared, std::move(ring), std::move(wake)));
  source->thread_ = options.start_thread([raw = source.get()] { raw->Work(); });
  if (!source->thread_.joinable())
    return absl::UnavailableError(
        "the system gives the daemon no thread for a ring");
  return source;
}

UringSource::UringSource(const UringSourceOptions& options,
                         std::unique_ptr<Ring> ring, base::Fd wake)
    : direct_(options.direct),
      one_file_system_(options.pool.one_file_system),
      buffers_(options.pool.buffers),
      pages_(std::make_shared<PagePool>(direct_ ? options.pinned_bytes : 0,
                                        options.spare_page_bytes)),
      cpu_clock_(options.pool.cpu_clock),
      wake_(std::move(wake)),
      ring_(std::move(ring)),
      page_cache_(options.page_cache_room),
      open_files_(ring_.get(), kMaxOpenFiles),
      slots_(options.depth),
      pool_(options.pool) {
  for (std::size_t slot = slots_.size(); slot-- > 0;)
    free_slots_.push_back(slot);
  finished_.reserve(kRunReads + slots_.size());
}

UringSource::~UringSource() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  std::deque<ReadRequest> left;
  {
    base::MutexLock lock(&mutex_);
    left.swap(queue_);
  }
  for (ReadRequest& request : left) request.done(ShuttingDown(request));
}

void UringSource::Read(absl::Span<ReadRequest> requests) {
  bool wake = false;
  {
    base::MutexLock lock(&mutex_);
    for (ReadRequest& request : requests) queue_.push_back(std::move(request));
    wake = std::exchange(asleep_, false);
  }
  if (wake) eventfd_write(wake_.get(), 1);
}

void UringSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  if (ticket == 0) return;
  {
    base::MutexLock lock(&mutex_);
    for (ReadRequest& request : queue_) {
      if (request.ticket == ticket) return AddPayers(purpose, &request.purpose);
    }
    joined_.emplace_back(ticket, purpose);
  }
  pool_.Share(ticket, purpose);
}

void UringSource::TakeJoined() {
  std::vector<std::pair<std::uint64_t, ReadPurpose>> joined;
  {
    base::MutexLock lock(&mutex_);
    joined.swap(joined_);
  }
  for (const auto& [ticket, purpose] : joined) {
    for (std::optional<Task>& task : slots_) {
      if (task.has_value() && task->read.ticket == ticket)
        AddPayers(purpose, &task->read.purpose);
    }
    pool_.Share(ticket, purpose);
  }
}

void UringSource::Forget(schedule::Flow job) {
  {
    base::MutexLock lock(&mutex_);
    forgotten_.push_back(job);
  }
  eventfd_write(wake_.get(), 1);
}

void UringSource::Work() {
  pthread_setname_np(pthread_self(), "forebay-ring");
  FOREBAY_CHECK(ring_->Enable().ok());
  ListenForWake();
  while (listening_ || free_slots_.size() < slots_.size()) {
    TakeJoined();
    bool more = true;
    while (more && finished_.size() < kRunReads) {
      std::optional<ReadRequest> next = Next();
      more = next.has_value();
      if (more) Begin(*std::move(next));
    }
    Answer();
    // While no read is in the ring, there is nothing to ask the kernel for.
    if (more && free_slots_.size() == slots_.size()) continue;
    ring_->Submit(/*wait=*/!more && MayWait());
    ring_->TakeCompletions([this](std::uint64_t id, int result) {
      if (id == kWakeId)
        ListenForWake();
      else
        Resume(id, result);
    });
  }
  Answer();
}

// The ring reads the eventfd until the destructor, which writes to it, has set
// `ending_`.
void UringSource::ListenForWake() {
  std::vector<std::uint64_t> forgotten;
  {
    base::MutexLock lock(&mutex_);
    listening_ = !ending_;
    forgotten.swap(forgotten_);
  }
  if (listening_)
    ring_->Read(kWakeId, {wake_.get()}, &wakes_, sizeof(wakes_), 0);
  for (const std::uint64_t job : forgotten) page_cache_.Forget(job);
  if (!forgotten.empty()) open_files_.DropOrphans();
}

std::optional<ReadRequest> UringSource::Next() {
  if (free_slots_.empty()) return std::nullopt;
  base::MutexLock lock(&mutex_);
  asleep_ = false;
  if (ending_ || queue_.empty()) return std::nullopt;
  ReadRequest next = std::move(queue_.front());
  queue_.pop_front();
  return next;
}

bool UringSource::MayWait() {
  if (free_slots_.empty()) return true;
  base::MutexLock lock(&mutex_);
  asleep_ = ending_ || queue_.empty();
  return asleep_;
}

void UringSource::Begin(ReadRequest read) {
  Task task = {.read = std::move(read)};
  const ReadRequest& request = task.read;
  const auto root = LocalRootOf(request);
  if (!root.ok()) return Finish(std::move(task), root.status());
  if (absl::Status status = CheckRange(request); !status.ok())
    return Finish(std::move(task), std::move(status));
  if (!(*root)->on_this_host() ||
      request.object.find('\0') != std::string::npos)
    return HandOver(std::move(task));

  const bool through_cache =
      request.unless.has_value() || page_cache_.Wants(request);
  task.past_cache = direct_ && !through_cache &&
                    WorthReadingDirectly(request.offset, request.length);
  if (task.past_cache) task.direct = open_files_.Find(request);
  if (task.direct != nullptr) return Opened(std::move(task));
  Open(std::move(task), **root);
}

void UringSource::Open(Task task, const LocalRoot& root) {
  const std::string& object = task.read.object;
  const int file = OpenWithoutWaiting(root, object);
  if (file >= 0) {
    task.file = base::Fd(file);
    return Opened(std::move(task));
  }
  if (file == -EXDEV) return LeaveFileSystem(std::move(task));
  Park(std::move(task), [&](std::uint64_t id, Task* parked) {
    const std::string& path = parked->read.object;
    ring_->Open(id, root.directory(), path.empty() ? "." : path.c_str(),
                &LocalRoot::HowToRead());
  });
}

void UringSource::Opened(Task task) {
  struct stat stat;
  const auto revision = CheckOpenFile(task.read, task.descriptor(), &stat);
  // Another file may by now have the name of a file that stayed open.
  const LocalRoot& root = **LocalRootOf(task.read);
  if (task.direct != nullptr &&
      (!revision.ok() || !root.IsNamed(task.read.object, stat))) {
    open_files_.Drop(task.read);
    task.direct.reset();
    return Open(std::move(task), root);
  }
  if (!revision.ok()) return Finish(std::move(task), revision.status());
  task.revision = *revision;
  if (task.read.unless == *revision)
    return FinishRead(std::move(task), base::Bytes());
  if (task.past_cache && PreparePastCache(&task, stat)) {
    // If there is no memory, `pool_` finds some or fails the read.
    if (task.buffer == nullptr) return HandOver(std::move(task));
    return ReadOn(std::move(task));
  }
  ReadThroughCache(std::move(task));
}

void UringSource::ReadThroughCache(Task task) {
  const ReadRequest& request = task.read;
  task.range = {request.offset, request.length, 1};
  task.buffer = buffers_->Take(request.length);
  if (task.buffer == nullptr) {
    absl::Status status = FileError(ENOMEM, request.object);
    return Finish(std::move(task), std::move(status));
  }
  if (request.length == 0) return Verify(std::move(task));
  const ssize_t got = ReadWithoutWaiting(task.file.get(), task.buffer.get(),
                                         request.length, request.offset);
  if (got == -EOPNOTSUPP) return HandOver(std::move(task));
  page_cache_.Saw(request.purpose.job, got >= 0);
  // A read that failed for another reason than waiting fails in the ring, too.
  if (got < 0) return ReadOn(std::move(task));
  WasRead(std::move(task), got);
}

bool UringSource::PreparePastCache(Task* task, const struct stat& stat) {
  const ReadRequest& request = task->read;
  if (task->direct == nullptr) {
    const std::uint64_t alignment =
        direct_files_.Switch(task->file.get(), stat.st_dev);
    if (alignment == 0) return false;
    OpenFiles::File file = {std::move(task->file), alignment};
    task->direct = request.length < request.version.size
                       ? open_files_.Keep(request, std::move(file))
                       : std::make_shared<OpenFiles::File>(std::move(file));
  }
  if (!std::exchange(pinning_tried_, true))
    pinned_ = ring_->Register(pages_->piece());
  task->range =
      AlignedRange(request.offset, request.length, task->direct->alignment);
  task->buffer = pages_->Take(task->range.length);
  return true;
}

void UringSource::WasRead(Task task, std::uint64_t got) {
  task.filled += got;
  // A read that ends at an unaligned offset has reached the file's end.
  if (got == 0 || task.complete() || task.filled % task.range.alignment != 0)
    return Verify(std::move(task));
  ReadOn(std::move(task));
}

void UringSource::ReadOn(Task task) {
  Park(std::move(task), [this](std::uint64_t id, Task* parked) {
    std::uint8_t* const begin = parked->buffer.get() + parked->filled;
    const std::uint64_t length = parked->range.length - parked->filled;
    const std::uint64_t offset = parked->range.offset + parked->filled;
    const absl::Span<std::uint8_t> pinned = pages_->piece().first(pinned_);
    if (begin >= pinned.data() &&
        begin + length <= pinned.data() + pinned.size())
      ring_->ReadFixed(id, parked->ring_file(), begin, length, offset);
    else
      ring_->Read(id, parked->ring_file(), begin, length, offset);
  });
}

// If the file was written meanwhile, the bytes may be a mix of two versions.
void UringSource::Verify(Task task) {
  const ReadRequest& request = task.read;
  const std::uint64_t lead = task.lead();
  struct stat stat;
  const auto revision = CheckOpenFile(task.read, task.descriptor(), &stat);
  if (revision.ok() && *revision != task.revision)
    return HandOver(std::move(task));
  absl::Status status = revision.status();
  if (status.ok() && !task.complete())
    status = EndsEarly(request, task.filled - std::min(task.filled, lead));
  if (status.ok() && request.version.revision.transaction_id != 0) {
    const auto checked = CheckTransactionIdWithoutWaiting(
        request, task.descriptor(), task.direct != nullptr, stat);
    if (!checked.has_value()) return HandOver(std::move(task));
    status = *checked;
  }
  if (!status.ok()) return Finish(std::move(task), std::move(status));
  const absl::Span<const std::uint8_t> span(task.buffer.get() + lead,
                                            request.length);
  base::Bytes bytes(std::move(task.buffer), span);
  FinishRead(std::move(task), std::move(bytes));
}

template <typename Prepare>
void UringSource::Park(Task task, Prepare prepare) {
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  prepare(slot, &slots_[slot].emplace(std::move(task)));
}

void UringSource::Resume(std::uint64_t slot, int result) {
  Task task = *std::exchange(slots_[slot], std::nullopt);
  free_slots_.push_back(slot);
  const bool opened = task.descriptor() < 0 && result >= 0;
  if (opened) {
    task.file = base::Fd(result);
    return Opened(std::move(task));
  }
  if (result == -EXDEV) return LeaveFileSystem(std::move(task));
  // EAGAIN and EINTR mean a signal or a change of the file system: `pool_`
  // tries again. EINVAL of a read means that the file cannot be read past the
  // cache after all.
  if (result == -EAGAIN || result == -EINTR ||
      (result == -EINVAL && task.range.alignment > 1))
    return HandOver(std::move(task));
  if (result < 0) {
    absl::Status status = FileError(-result, task.read.object);
    return Finish(std::move(task), std::move(status));
  }
  WasRead(std::move(task), result);
}

void UringSource::LeaveFileSystem(Task task) {
  if (!one_file_system_) return HandOver(std::move(task));
  absl::Status status = (*LocalRootOf(task.read))->Crossed(task.read.object);
  Finish(std::move(task), std::move(status));
}

void UringSource::HandOver(Task task) {
  pool_.Read({&task.read, 1});
  TakeJoined();  // some may have joined this read meanwhile
}

void UringSource::FinishRead(Task task, base::Bytes bytes) {
  const Revision revision = task.revision;
  Finish(std::move(task),
         ReadResult{.bytes = std::move(bytes), .revision = revision});
}

void UringSource::Finish(Task task, absl::StatusOr<ReadResult> result) {
  finished_.push_back({std::move(task.read), std::move(result)});
}

void UringSource::Answer() {
  if (finished_.empty()) return;
  cpu_nanos_ += cpu_clock_->NowNanos() - cpu_counted_;
  for (Finished& finished : finished_)
    finished.read.done(std::move(finished.result));
  finished_.clear();
  cpu_counted_ = cpu_clock_->NowNanos();
}

}  // namespace forebay::storage::local
