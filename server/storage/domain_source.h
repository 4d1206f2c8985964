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

struct DomainSourceOptions {
  // Returns the name of the failure domain that the read belongs to, as far as
  // is known now: a file system, a host. Must not block.
  std::function<std::string(const ReadRequest&)> domain_of;
  // Makes the source of a domain. Returns null if the system has no means for
  // it now: then its reads are refused.
  std::function<std::unique_ptr<SharedOutSource>(const std::string& domain)>
      make;
  // Whether sources may answer WrongDomain (wrong_domain.h).
  bool objects_move = false;
  // Returns whether `most` bounds domains of that name. Null: it bounds all.
  std::function<bool(const std::string& domain)> is_limited = nullptr;
  // The most such domains at once. A further one takes the place of the one
  // that is idle and was used longest ago. If none is idle, it is refused.
  std::size_t most = 64;
  // Words of that error: what such domains are, and what to do.
  std::string limited_kind = "hosts";
  std::string advice = "end jobs that read from other hosts";
  // A domain that had no read for so long may be released.
  std::int64_t idle_nanos = 60'000'000'000;
  const base::Clock* clock = base::Clock::Monotonic();
};

// Gives each failure domain, which may stall by itself, a source of its own, so
// that a stall holds no queue, limit or thread that reads of other domains
// need. A read whose object turns out to belong to another domain (see
// wrong_domain.h) is made again there.
//
// Thread-safe. The caller owns it; the clock outlives it. Destruction waits for
// the sources' reads in flight. Read does not block, but to make a domain's
// source. ReleaseIdle blocks until the threads of idle sources have ended.
// A thread named forebay-domains ends sources whose places others took: a
// source cannot end on a thread of its own, which may be the one that reads.
// Errors are those of the sources, and UNAVAILABLE for a domain that can have
// no source; such a `done` is called before Read returns.
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

  // Returns the sums over all domains; the request cost is the largest.
  SourceState State() const override;

  // Ends the sources of domains that had no reads for a while, or whose places
  // others took.
  void ReleaseIdle();

 private:
  struct Domain {
    std::atomic<std::size_t> in_flight = 0;  // reads, until `done` has returned
    std::int64_t used_at_nanos = 0;
    std::unique_ptr<SharedOutSource> source;  // goes first
  };
  using Domains = std::map<std::string, std::shared_ptr<Domain>>;

  // Returns the domain, made if there is none yet. CANCELLED at the end.
  absl::StatusOr<std::shared_ptr<Domain>> FindOrMake(const std::string& name);
  // Returns null if it has to be made.
  absl::StatusOr<std::shared_ptr<Domain>> FindLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLimited(const std::string& name) const {
    return options_.is_limited == nullptr || options_.is_limited(name);
  }
  // Makes room for one more domain. UNAVAILABLE if none can go for it.
  absl::Status MakeRoomLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the idle limited domain that was used longest ago, or the end.
  Domains::iterator FindIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has EndReplaced called soon, on another thread.
  void WakeEnder() ABSL_EXCLUSIVE_LOCKS_REQUIRED(making_);
  void EndReplaced();
  static bool IsIdle(const std::shared_ptr<Domain>& domain) {
    return domain.use_count() == 1 && domain->in_flight == 0;
  }
  // Sends reads to the domain that they belong to.
  void Send(const std::string& name, absl::Span<ReadRequest> requests,
            int tries);
  // Counts the end of a read in flight.
  static void Count(ReadRequest* request, Domain* domain);
  // Does so, too, and makes the read again elsewhere if its domain was another.
  void Watch(ReadRequest* request, const std::string& name, Domain* domain,
             int tries);
  void ReadElsewhere(ReadRequest request, const std::string& domain, int tries);
  // Returns who joined the read in flight.
  std::vector<ReadPurpose> JoinedOf(std::uint64_t ticket) const;
  void Leave(std::uint64_t ticket);
  void ShareBelow(std::uint64_t ticket, const ReadPurpose& purpose) const;
  std::vector<std::shared_ptr<Domain>> All() const;

  const DomainSourceOptions options_;
  AllJobShares shares_;
  base::Mutex making_;  // held while a source is made; taken before mutex_
  mutable base::Mutex mutex_;
  Domains domains_ ABSL_GUARDED_BY(mutex_);
  // Domains whose places others took, until their sources end.
  std::vector<std::shared_ptr<Domain>> replaced_ ABSL_GUARDED_BY(mutex_);
  // Joins of reads in flight whose objects may belong elsewhere, by ticket.
  std::unordered_map<std::uint64_t, std::vector<ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // Ends what was replaced. Made when a domain is replaced for the first time.
  std::unique_ptr<base::Alarm> ender_ ABSL_GUARDED_BY(making_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_
