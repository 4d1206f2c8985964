#ifndef FOREBAY_SERVER_DAEMON_LOCAL_DOMAIN_H_
#define FOREBAY_SERVER_DAEMON_LOCAL_DOMAIN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_source.h"
#include "server/storage/local/uring_source.h"
#include "server/storage/scheduled_source.h"
#include "server/storage/shared_out_source.h"

namespace forebay::daemon {

// The source of one failure domain of local files: an io_uring or threads, and
// a scheduler in front. Most domains are one file system. Files to which links
// or mount points lead, out of a root's own file system, form further domains.
//
// Thread-safe. The caller owns it. Read does not block. Destruction calls
// `on_end` first, and blocks for the reads in flight. Errors are those of the
// sources.
class LocalDomain final : public storage::SharedOutSource {
 public:
  using OnEnd = std::function<void(LocalDomain*)>;

  // The number of stalled reads at which a job gets no further reads, so that a
  // file that hangs cannot take all places for reads. Each number is about a
  // quarter of the reads that may hang before all places are taken.
  static constexpr std::size_t kMostStalledInRing = 16;
  static constexpr std::size_t kMostStalledInThreads = 8;

  // Creates a domain that is read through `ring`. `memory` is the reservation
  // for the ring's buffers.
  LocalDomain(std::unique_ptr<storage::local::UringSource> ring,
              base::MemoryReservation memory, OnEnd on_end)
      : on_end_(std::move(on_end)),
        memory_(std::move(memory)),
        ring_(std::move(ring)),
        scheduled_(ring_.get(), {.most_stalled = kMostStalledInRing}) {}
  // Creates a domain that is read by threads.
  LocalDomain(std::unique_ptr<storage::local::LocalSource> threads,
              OnEnd on_end)
      : on_end_(std::move(on_end)),
        threads_(std::move(threads)),
        scheduled_(threads_.get(), {.most_stalled = kMostStalledInThreads}) {}
  ~LocalDomain() override { on_end_(this); }

  void Read(absl::Span<storage::ReadRequest> requests) override {
    scheduled_.Read(requests);
  }
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    scheduled_.Share(ticket, purpose);
  }
  void SetWeight(schedule::Flow job, double weight) override {
    scheduled_.SetWeight(job, weight);
  }
  void SetCap(schedule::Flow job, double bytes_per_second) override {
    scheduled_.SetCap(job, bytes_per_second);
  }
  void Forget(schedule::Flow job) override {
    scheduled_.Forget(job);
    if (ring_ != nullptr) ring_->Forget(job);
  }
  storage::SourceState State() const override { return scheduled_.State(); }

  // Returns false if the system refused a thread that reads need.
  bool has_threads() const { return scheduled_.has_thread(); }

  // Returns the CPU time that reading has taken, in nanoseconds.
  std::int64_t cpu_nanos() const {
    return ring_ != nullptr ? ring_->cpu_nanos() : threads_->cpu_nanos();
  }

 private:
  const OnEnd on_end_;
  base::MemoryReservation memory_;
  // Either the ring or the threads are null.
  std::unique_ptr<storage::local::UringSource> ring_;
  std::unique_ptr<storage::local::LocalSource> threads_;
  storage::ScheduledSource scheduled_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_LOCAL_DOMAIN_H_
