#include "server/daemon/local_reads.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "server/storage/scheduled_source.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {

using storage::local::LocalRoot;
using storage::local::LocalSource;
using storage::local::LocalSourceOptions;
using storage::local::UringSource;

namespace {

// The bytes of a ring's buffers for reads that bypass the page cache. The
// kernel keeps some of the buffers pinned; others are kept for the next reads.
constexpr std::size_t kPinnedBytes = std::size_t{8} << 20;
constexpr std::size_t kSparePageBytes = std::size_t{6} << 20;
constexpr std::size_t kRingBytes = kPinnedBytes + kSparePageBytes;

// The entries of a ring: twice as many as the reads that the scheduler lets
// through at once. A job may have that many reads in the ring before the first
// counts as stalled.
constexpr unsigned kRingDepth = 128;

// Returns whether a domain consists of files outside the file systems of roots.
bool IsBeyond(const std::string& domain) {
  return domain.starts_with(LocalRoot::kBeyond);
}

}  // namespace

LocalReads::LocalReads(const proto::StorageConfig& config,
                       executor::Executor* executor, base::MemoryBudget* budget,
                       storage::AllJobShares* shares)
    : threads_(static_cast<int>(config.local_threads())),
      budget_(budget),
      buffers_(
          std::make_shared<storage::BufferPool>(kBufferBytes - kRingBytes)),
      domains_(
          {.domain_of =
               [](const storage::ReadRequest& request) {
                 const auto* const root =
                     dynamic_cast<const LocalRoot*>(request.root.get());
                 return root == nullptr ? std::string()
                                        : root->FileSystemOf(request.object);
               },
           .make =
               [this](const std::string& file_system) {
                 return MakeDomain(file_system);
               },
           .objects_move = true,
           // The number of domains outside the roots' file systems is limited,
           // because clients can make many. A host has few file systems.
           .is_limited = &IsBeyond,
           .limited_kind =
               "folders with files on further file systems (by links or "
               "mount points)",
           .advice = "name the files' own folder as the dataset, or end jobs "
                     "that read such folders"}) {
  if (config.io_uring() != "off") {
    const absl::Status probe = storage::local::Ring::Probe();
    has_rings_ = probe.ok();
    refusal_ = std::string(probe.message());
  }
  if (has_rings_) {
    spdlog::info("local files are read through io_uring");
  } else {
    spdlog::info("local files are read by {} threads: {}",
                 config.local_threads(),
                 refusal_.empty() ? "storage.io_uring is \"off\"" : refusal_);
  }
  rechecked_.emplace(&domains_, [executor](const storage::ReadPurpose& purpose,
                                           std::int64_t cpu_nanos,
                                           std::function<void()> task) {
    executor->SubmitFor(storage::PayersOf(purpose),
                        {.cpu_nanos = cpu_nanos, .urgency = purpose.urgency},
                        [task = std::move(task)](int) { task(); });
  });
  shares->Add(&domains_);
}

LocalReads::~LocalReads() { rechecked_->Stop(); }

storage::SourceState LocalReads::state() const {
  storage::SourceState state = domains_.State();
  state.concurrency = std::max(state.concurrency,
                               storage::ScheduledSourceOptions().reads_at_once);
  return state;
}

std::unique_ptr<storage::SharedOutSource> LocalReads::MakeDomain(
    const std::string& file_system) {
  std::unique_ptr<LocalDomain> domain;
  if (has_rings_ && file_system.starts_with(LocalRoot::kDisk))
    domain = MakeRing();
  if (domain == nullptr) {
    domain = std::make_unique<LocalDomain>(
        std::make_unique<LocalSource>(
            LocalSourceOptions{.threads = threads_,
                               .one_file_system = !IsBeyond(file_system),
                               .buffers = buffers_}),
        [this](LocalDomain* ended) { OnEnd(ended); });
  }
  if (!domain->has_threads()) return nullptr;
  base::MutexLock lock(&mutex_);
  live_.insert(domain.get());
  return domain;
}

// The first ring uses the memory that the daemon reserved at its start. Each
// further ring reserves memory if the budget has some to spare; otherwise it
// has no buffers of its own. After the first ring has ended, the next new ring
// uses the first ring's memory.
std::unique_ptr<LocalDomain> LocalReads::MakeRing() {
  bool is_first = false;
  {
    base::MutexLock lock(&mutex_);
    is_first = first_ring_ == nullptr;
  }
  std::optional<base::MemoryReservation> memory;
  if (!is_first) memory = budget_->ReserveSpare(kRingBytes);
  const bool has_memory = is_first || memory.has_value();
  auto ring = UringSource::Create(
      {.depth = kRingDepth,
       .pinned_bytes = has_memory ? kPinnedBytes : 0,
       .spare_page_bytes = has_memory ? kSparePageBytes : 0,
       .pool = {
           .threads = threads_, .one_file_system = true, .buffers = buffers_}});
  if (!ring.ok()) {
    spdlog::warn("a file system is read by {} threads: {}", threads_,
                 std::string(ring.status().message()));
    return nullptr;
  }
  auto domain = std::make_unique<LocalDomain>(
      *std::move(ring), std::move(memory).value_or(base::MemoryReservation()),
      [this](LocalDomain* ended) { OnEnd(ended); });
  base::MutexLock lock(&mutex_);
  if (is_first) first_ring_ = domain.get();
  return domain;
}

void LocalReads::OnEnd(LocalDomain* domain) {
  base::MutexLock lock(&mutex_);
  live_.erase(domain);
  if (first_ring_ == domain) first_ring_ = nullptr;
  ended_cpu_nanos_ += domain->cpu_nanos();
}

std::int64_t LocalReads::cpu_nanos() const {
  base::MutexLock lock(&mutex_);
  std::int64_t sum = ended_cpu_nanos_;
  for (const LocalDomain* const domain : live_) sum += domain->cpu_nanos();
  return sum;
}

}  // namespace forebay::daemon
