#ifndef FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
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
  // The most such domains at once. Reads of further ones are refused.
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

  // Ends the sources of domains that had no reads for a while.
  void ReleaseIdle();

 private:
  struct Domain {
    std::unique_ptr<SharedOutSource> source;
    std::int64_t used_at_nanos = 0;
  };
  using Domains = std::map<std::string, std::shared_ptr<Domain>>;

  // Returns the domain, made if there is none yet. CANCELLED at the end.
  absl::StatusOr<std::shared_ptr<Domain>> FindOrMake(const std::string& name);
  // Returns null if it has to be made.
  absl::StatusOr<std::shared_ptr<Domain>> FindLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoomLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends reads to the domain that they belong to.
  void Send(const std::string& domain, absl::Span<ReadRequest> requests,
            int tries);
  // Makes the read again elsewhere if its domain was another.
  void Watch(ReadRequest* request, const std::string& domain, int tries);
  std::vector<std::shared_ptr<Domain>> All() const;

  const DomainSourceOptions options_;
  AllJobShares shares_;
  base::Mutex making_;  // held while a source is made; taken before mutex_
  mutable base::Mutex mutex_;
  Domains domains_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_DOMAIN_SOURCE_H_
