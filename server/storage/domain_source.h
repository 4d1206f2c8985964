#ifndef FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/source_state.h"

namespace forebay::storage {

// Says which failure domain a read belongs to, how a domain's source is made,
// and how many domains there may be.
struct DomainSourceOptions {
  // Returns the name of the failure domain that the read belongs to, as far as
  // is known now: a file system, or a host. Must not block.
  std::function<std::string(const ReadRequest&)> domain_of;
  // Makes the source of a domain. Returns null if the system gives it no
  // threads; the reads of that domain are then refused.
  std::function<std::unique_ptr<SharedOutSource>(const std::string& domain)>
      make;
  // Whether sources may answer WrongDomain (wrong_domain.h).
  bool objects_move = false;
  // Returns whether the domain counts towards `most`. If null, all domains
  // count.
  std::function<bool(const std::string& domain)> is_limited = nullptr;
  // The largest number of domains at one time, of those that `is_limited`
  // counts. A new one replaces the idle one that was used longest ago. If none
  // is idle, reads of the new domain are refused.
  std::size_t most = 64;
  // Two parts of the refusal's message: what the domains are, and what the user
  // can do.
  std::string limited_kind = "hosts";
  std::string advice = "end jobs that read from other hosts";
  // The nanoseconds without a read after which ReleaseIdle ends a domain's
  // source.
  std::int64_t idle_nanos = 60'000'000'000;
  const base::Clock* clock = base::Clock::Monotonic();
};

// Gives each failure domain a source of its own. A failure domain is a set of
// files that stall together, such as those of one file system or host. A
// stalled domain occupies no queue, limit or thread that reads of other domains
// need. A read whose object turns out to belong to another domain
// (wrong_domain.h) is made again there.
//
// Thread-safe. A thread named forebay-domains destroys the sources of replaced
// domains, because no source can be destroyed on one of its own threads.
//
// The caller owns the source; the clock outlives it. Destruction waits for the
// reads in flight. Read blocks only while it makes a domain's source.
// ReleaseIdle blocks until the threads of idle sources have ended.
//
// Errors are those of the sources, and UNAVAILABLE for a domain for which no
// source can be made; Read then calls `done` before it returns.
class DomainSource final : public SharedOutSource {
 public:
  explicit DomainSource(const DomainSourceOptions& options)
      : options_(options) {}
  ~DomainSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;
  void SetWeight(schedule::Flow job, double weight) override {
    shares_.SetWeight(job, weight);
  }
  void SetCap(schedule::Flow job, double bytes_per_second) override {
    shares_.SetCap(job, bytes_per_second);
  }
  void Forget(schedule::Flow job) override { shares_.Forget(job); }

  // Returns the sums over all domains; `request_cost` is the largest of all.
  SourceState State() const override;

  // Destroys the sources of domains that had no read for `idle_nanos`, and of
  // replaced domains.
  void ReleaseIdle();

 private:
  // A failure domain: its source, and the fields that tell whether the domain
  // is idle.
  struct Domain {
    // Reads that were sent to the source and whose `done` has not returned.
    std::atomic<std::size_t> in_flight = 0;
    std::int64_t used_at_nanos = 0;
    // The source is the last member: it is destroyed first, while `in_flight`
    // still exists.
    std::unique_ptr<SharedOutSource> source;
  };
  using Domains = std::map<std::string, std::shared_ptr<Domain>>;

  // Returns the domain, and makes it if there is none yet. CANCELLED during
  // destruction.
  absl::StatusOr<std::shared_ptr<Domain>> FindOrMake(const std::string& name);
  // Returns the domain, or null if it has to be made. CANCELLED during
  // destruction.
  absl::StatusOr<std::shared_ptr<Domain>> FindLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLimited(const std::string& name) const {
    return options_.is_limited == nullptr || options_.is_limited(name);
  }
  // Makes room for one more domain. UNAVAILABLE if all places are taken and no
  // domain is idle.
  absl::Status MakeRoomLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the idle limited domain that was used longest ago, or the end of
  // `domains_` if none is idle.
  Domains::iterator FindIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the thread forebay-domains, which then calls EndReplaced.
  void WakeEnder() ABSL_EXCLUSIVE_LOCKS_REQUIRED(making_);
  // Destroys the sources of `replaced_`. Blocks until their threads have ended.
  void EndReplaced();
  static bool IsIdle(const std::shared_ptr<Domain>& domain) {
    return domain.use_count() == 1 && domain->in_flight == 0;
  }
  // Sends the reads to the source of the domain `name`. `tries` counts the
  // domains that these reads were sent to, this one included.
  void Send(const std::string& name, absl::Span<ReadRequest> requests,
            int tries);
  // Wraps the read's `done`, so that it also lowers `domain->in_flight`.
  static void Count(ReadRequest* request, Domain* domain);
  // Wraps the read's `done` as Count does. If the object belongs to another
  // domain, the wrapper also makes the read again there.
  void Watch(ReadRequest* request, const std::string& name, Domain* domain,
             int tries);
  // Makes a read again in the domain that `domain_of` names now. Tells that
  // domain's source of all readers that have joined the read.
  void ReadElsewhere(ReadRequest request, const std::string& domain, int tries);
  // Returns the purposes of the readers that have joined the read in flight.
  std::vector<ReadPurpose> JoinedOf(std::uint64_t ticket) const;
  // Forgets the readers of a read that has ended.
  void Leave(std::uint64_t ticket);
  // Calls Share of all sources: each ignores tickets that it does not know.
  void ShareBelow(std::uint64_t ticket, const ReadPurpose& purpose) const;
  std::vector<std::shared_ptr<Domain>> All() const;

  const DomainSourceOptions options_;
  AllJobShares shares_;
  // This mutex is held while a source is made. A thread that needs both mutexes
  // takes this one first.
  base::Mutex making_;
  mutable base::Mutex mutex_;
  Domains domains_ ABSL_GUARDED_BY(mutex_);
  // Domains that were replaced by others, until the thread forebay-domains
  // destroys their sources.
  std::vector<std::shared_ptr<Domain>> replaced_ ABSL_GUARDED_BY(mutex_);
  // The readers that have joined a read in flight, by ticket. Only reads whose
  // objects may belong to another domain are here.
  std::unordered_map<std::uint64_t, std::vector<ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // The thread forebay-domains; null until a domain is replaced for the first
  // time.
  std::unique_ptr<base::Alarm> ender_ ABSL_GUARDED_BY(making_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_
