#include "server/cache/disk/disk_cache.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/cache/disk/store_entry.h"
#include "spdlog/spdlog.h"

namespace forebay::cache::disk {
namespace {

// How many bytes of unused buffers are kept for the next reads.
constexpr std::size_t kSpareBytes = std::size_t{8} << 20;

// Returns the key of the bytes that a request asks for. The key refers to
// `root` and to the request.
Key KeyOf(const std::string& root, const storage::ReadRequest& request) {
  return {root, request.object, request.version, request.offset,
          request.length};
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskCache>> DiskCache::Create(
    const Options& options, std::unique_ptr<Volume> volume, const Deps& deps) {
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation memory,
      deps.budget->Reserve(
          kSpareBytes + options.read_threads * ReadThreads::kScratchBytes,
          "the reads of the cache on disk"));
  FOREBAY_ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                           Store::Open(options.store, std::move(volume),
                                       {.budget = deps.budget,
                                        .next_use = deps.next_use,
                                        .clock = deps.clock}));
  std::unique_ptr<DiskCache> cache(
      new DiskCache(options, deps, std::move(memory), std::move(store)));
  if (!cache->threads_.has_threads()) {
    return absl::ResourceExhaustedError(
        "the system gives the daemon no thread to read the cache on disk: "
        "raise the limit on threads (ulimit -u, or pids.max of the cgroup)");
  }
  return cache;
}

DiskCache::DiskCache(const Options& options, const Deps& deps,
                     base::MemoryReservation memory,
                     std::unique_ptr<Store> store)
    : below_(deps.below),
      clock_(deps.clock),
      memory_(std::move(memory)),
      buffers_(std::make_shared<storage::BufferPool>(kSpareBytes)),
      store_(std::move(store)),
      threads_(options.read_threads,
               [this](ReadThreads::Read read, const PageBuffer& scratch) {
                 Serve(std::move(read), scratch);
               }) {}

DiskCache::~DiskCache() {
  base::MutexLock lock(&mutex_);
  while (reads_in_flight_ > 0) all_reads_done_.Wait(&mutex_);
}

void DiskCache::Stop() { threads_.Stop(); }

void DiskCache::Read(absl::Span<storage::ReadRequest> requests) {
  std::vector<storage::ReadRequest> below;
  const bool is_too_slow = IsTooSlow();
  for (storage::ReadRequest& taken : requests) {
    storage::ReadRequest request = std::move(taken);
    const auto root =
        request.root == nullptr ? nullptr : request.root->lasting_identity();
    // Some requests are not served from the disk. An object without a version,
    // which some servers do not send, may change unnoticed. A record has no
    // field for a transaction id. A caller that sets `unless` already has the
    // bytes, so they are hardly ever read again.
    if (root == nullptr || request.version.stamp == 0 ||
        request.version.revision.transaction_id != 0 || request.uncached ||
        request.unless.has_value()) {
      below.push_back(std::move(request));
      continue;
    }
    const Key key = KeyOf(*root, request);
    if (!store_->CanStore(key)) {
      below.push_back(std::move(request));
    } else if (is_too_slow) {
      store_->CountMiss(key);
      below.push_back(std::move(request));
    } else if (auto found = store_->Find(key, request.sample)) {
      BeginRead();
      if (request.ticket != 0) {
        base::MutexLock lock(&mutex_);
        joined_[request.ticket] = {};
      }
      ReadThreads::Read hit = {std::move(request), *std::move(found)};
      if (hit.request.root->StillHas(hit.request.object, hit.request.version)) {
        Queue(std::move(hit));
      } else {
        below.push_back(ValidationRequest(std::move(hit)));
      }
    } else {
      below.push_back(CachingRequest(std::move(request)));
    }
  }
  if (!below.empty()) below_->Read(absl::MakeSpan(below));
}

bool DiskCache::IsTooSlow() {
  const std::int64_t now = clock_->NowNanos();
  {
    base::MutexLock lock(&mutex_);
    if (slow_breaker_.IsOpen(now)) return true;
    if (!slow_disk_.Detect(now) || !slow_breaker_.RecordFailure(now))
      return false;
  }
  spdlog::warn("the cache on disk is slow: it is not read for a while");
  std::vector<ReadThreads::Read> hits = threads_.TakeQueued();
  ReadBelow(absl::MakeSpan(hits));
  for (std::size_t i = 0; i < hits.size(); ++i) EndRead();
  return true;
}

void DiskCache::ReadBelow(absl::Span<ReadThreads::Read> hits) {
  if (hits.empty()) return;
  std::vector<storage::ReadRequest> below;
  std::vector<std::uint64_t> tickets;
  for (ReadThreads::Read& hit : hits) {
    tickets.push_back(hit.request.ticket);
    below.push_back(CachingRequest(std::move(hit.request)));
  }
  below_->Read(absl::MakeSpan(below));
  for (const std::uint64_t ticket : tickets) {
    for (const storage::ReadPurpose& purpose : TakeJoined(ticket))
      below_->Share(ticket, purpose);
  }
}

std::vector<storage::ReadPurpose> DiskCache::TakeJoined(std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  const auto found = joined_.find(ticket);
  if (found == joined_.end()) return {};
  std::vector<storage::ReadPurpose> joined = std::move(found->second);
  joined_.erase(found);
  return joined;
}

void DiskCache::RecordSourceRead(std::int64_t nanos) {
  base::MutexLock lock(&mutex_);
  slow_disk_.RecordSourceRead(nanos);
}

void DiskCache::Queue(ReadThreads::Read hit) {
  if (threads_.Push(std::move(hit))) return;
  // The threads were stopped, and serve no more reads.
  // NOLINTNEXTLINE(bugprone-use-after-move): only what Push took has moved
  const storage::ReadRequest& request = hit.request;
  TakeJoined(request.ticket);
  request.done(absl::CancelledError(
      absl::StrCat(request.object, ": the daemon is shutting down")));
  EndRead();
}

storage::ReadRequest DiskCache::ValidationRequest(ReadThreads::Read hit) {
  storage::ReadRequest ask;
  ask.root = hit.request.root;
  ask.object = hit.request.object;
  ask.version = hit.request.version;
  ask.layout = hit.request.layout;
  ask.purpose = hit.request.purpose;
  ask.sample = hit.request.sample;
  ask.ticket = hit.request.ticket;
  ask.done = [this, shared = std::make_shared<ReadThreads::Read>(std::move(
                        hit))](absl::StatusOr<storage::ReadResult> result) {
    if (result.ok()) {
      shared->revision = result->revision;
      Queue(std::move(*shared));
      return;
    }
    TakeJoined(shared->request.ticket);
    shared->request.done(std::move(result));
    EndRead();
  };
  return ask;
}

absl::StatusOr<base::Bytes> DiskCache::ReadDisk(const ReadThreads::Read& read,
                                                const PageBuffer& scratch) {
  std::uint64_t number = 0;
  {
    const std::int64_t now = clock_->NowNanos();
    base::MutexLock lock(&mutex_);
    number = slow_disk_.Begin(now);
  }
  const auto root = read.request.root->lasting_identity();
  Key key = KeyOf(*root, read.request);
  key.version.revision = read.revision;
  auto bytes = store_->Read(read.found, key, scratch, *buffers_);
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  if (slow_disk_.End(number, now)) slow_breaker_.RecordSuccess();
  return bytes;
}

void DiskCache::Serve(ReadThreads::Read read, const PageBuffer& scratch) {
  storage::ReadRequest& request = read.request;
  auto bytes = ReadDisk(read, scratch);
  if (bytes.ok()) {
    TakeJoined(request.ticket);
    request.done(storage::ReadResult{.bytes = *std::move(bytes),
                                     .origin = storage::Origin::kCached,
                                     .revision = read.revision});
  } else {
    ReadBelow({&read, 1});
  }
  EndRead();
}

storage::ReadRequest DiskCache::CachingRequest(storage::ReadRequest request) {
  BeginRead();
  StoreEntry entry;
  entry.root = request.root->lasting_identity();
  entry.object = request.object;
  entry.version = request.version;
  entry.offset = request.offset;
  entry.sample = request.sample;
  entry.hint_nanos = request.purpose.next_use_nanos;
  request.done = [this, entry = std::move(entry),
                  begun_at_nanos = clock_->NowNanos(),
                  done = std::move(request.done)](
                     absl::StatusOr<storage::ReadResult> result) mutable {
    if (result.ok()) {
      RecordSourceRead(clock_->NowNanos() - begun_at_nanos);
      entry.bytes = result->bytes;
      entry.version.revision = result->revision;
      store_->Insert(std::move(entry));
    }
    done(std::move(result));
    EndRead();
  };
  return request;
}

void DiskCache::Share(std::uint64_t ticket,
                      const storage::ReadPurpose& purpose) {
  {
    base::MutexLock lock(&mutex_);
    const auto found = joined_.find(ticket);
    if (found != joined_.end()) found->second.push_back(purpose);
  }
  below_->Share(ticket, purpose);
}

disk::DiskSnapshot DiskCache::Snapshot() const {
  disk::DiskSnapshot snapshot = store_->Snapshot();
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  snapshot.off = snapshot.off || slow_breaker_.IsOpen(now);
  return snapshot;
}

void DiskCache::BeginRead() {
  base::MutexLock lock(&mutex_);
  ++reads_in_flight_;
}

void DiskCache::EndRead() {
  base::MutexLock lock(&mutex_);
  if (--reads_in_flight_ == 0) all_reads_done_.NotifyAll();
}

}  // namespace forebay::cache::disk
