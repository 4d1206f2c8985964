#include "server/daemon/local_reads.h"

#include <cstdint>
#include <functional>
#include <utility>

#include "spdlog/spdlog.h"

namespace forebay::daemon {

using storage::local::LocalSource;
using storage::local::LocalSourceOptions;
using storage::local::UringSource;

namespace {

// Bytes of a ring's buffers for reads past the page cache: those that the
// kernel keeps pinned, and those that are kept besides. The cache holds on to
// most.
constexpr std::size_t kPinnedBytes = std::size_t{8} << 20;
constexpr std::size_t kSparePageBytes = std::size_t{6} << 20;

}  // namespace

LocalReads::LocalReads(const proto::StorageConfig& config,
                       executor::Executor* executor,
                       storage::AllJobShares* shares) {
  const auto run = [executor](const storage::ReadPurpose& purpose,
                              std::int64_t cpu_nanos,
                              std::function<void()> task) {
    executor->SubmitFor(storage::PayersOf(purpose),
                        {.cpu_nanos = cpu_nanos, .urgency = purpose.urgency},
                        [task = std::move(task)](int) { task(); });
  };
  const LocalSourceOptions options = {
      .threads = static_cast<int>(config.local_threads()),
      .spare_bytes = kKeptBytes - kPinnedBytes};
  if (config.io_uring() != "off") {
    LocalSourceOptions pool = options;
    pool.spare_bytes -= kSparePageBytes;
    auto ring = UringSource::Create({.pinned_bytes = kPinnedBytes,
                                     .spare_page_bytes = kSparePageBytes,
                                     .pool = pool});
    if (ring.ok()) {
      ring_ = *std::move(ring);
      scheduled_.emplace(ring_.get());
      rechecked_.emplace(&*scheduled_, run);
      shares->Add(&*scheduled_);
      shares->Add(ring_.get());
      spdlog::info("local files are read through io_uring");
      return;
    }
    refusal_ = std::string(ring.status().message());
  }
  threads_ = std::make_unique<LocalSource>(options);
  scheduled_.emplace(threads_.get());
  rechecked_.emplace(&*scheduled_, run);
  shares->Add(&*scheduled_);
  spdlog::info("local files are read by {} threads: {}", config.local_threads(),
               refusal_.empty() ? "storage.io_uring is \"off\"" : refusal_);
}

LocalReads::~LocalReads() { rechecked_->Stop(); }

std::int64_t LocalReads::cpu_nanos() const {
  return ring_ != nullptr ? ring_->cpu_nanos() : threads_->cpu_nanos();
}

}  // namespace forebay::daemon
