#ifndef FOREBAY_SERVER_CACHE_STRIPE_H_
#define FOREBAY_SERVER_CACHE_STRIPE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "server/base/bytes.h"
#include "server/base/mutex.h"
#include "server/base/philox.h"
#include "server/cache/candidate_set.h"
#include "server/cache/extent.h"
#include "server/cache/ledger.h"
#include "server/cache/snapshot.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Cached bytes, with the memory that they take until their last reader releases
// them.
struct CachedBytes {
  Charge charge;
  Charge variant_charge;  // of a variant: among variants
  // Of a variant: the token that covers the bytes that it was made of.
  std::shared_ptr<const void> cover;
  storage::Revision revision;  // of the object when it was read
  base::Bytes bytes;           // destroyed before its charge is released
};

// A read below, from the first miss until it completes; or the check whether
// cached bytes are current.
struct InFlightRead {
  struct Waiter {
    storage::ReadPurpose purpose;
    storage::ReadDone done;
  };

  // Constant once the read in flight is in the stripe.
  const Extent* extent = nullptr;  // the table's key
  // The object's; requests for another revision do not join.
  storage::Revision wanted;
  // Written only by the thread that began the read.
  Charge charge;  // empty: the bytes are not cached
  // The tier that gave the bytes, once they are read.
  storage::Origin origin = storage::Origin::kSource;
  // The cached bytes to check. They are read again only if the object has
  // changed.
  std::shared_ptr<const CachedBytes> confirms;
  // The purpose of a read ahead, which began without waiters.
  std::optional<storage::ReadPurpose> ahead;

  // Guarded by the stripe's mutex.
  std::vector<Waiter> waiters;  // the first began it, except in a read ahead
  std::size_t lead = 0;         // the waiter for whose purpose it was sent
  EntryMetadata metadata;       // of the entry that it becomes
  std::uint64_t ticket = 0;     // of the read below; 0: not sent yet
};

// A part of the cache: a table of cached bytes and reads in flight under one
// lock, which is held for a microsecond or two. The extent's hash selects the
// stripe.
//
// Thread-safe. Owned by the cache. Never blocks; frees no bytes and calls no
// callback under its lock. No errors.
class Stripe {
 public:
  struct Found {
    std::shared_ptr<const CachedBytes> hit;
    std::int64_t saves_nanos = 0;  // as in EntryMetadata
    std::shared_ptr<InFlightRead> missed;
    // The ticket of the joined read below; 0 if it was not sent yet.
    std::uint64_t joined = 0;
    // A variant is not cached, or is being checked for another revision. No
    // read below gives variants other than kEncoded.
    bool absent = false;
    // The bytes are in flight for another revision: the caller must read them
    // for this request alone.
    bool read_alone = false;
  };

  // Finds the bytes, joins their read in flight, or begins one. A hit leaves
  // the request unchanged; a miss or a joined read takes its `done`. `memory`
  // is what the bytes would take.
  Found LookUp(const ExtentView& extent,
               const std::shared_ptr<const std::string>& root,
               storage::ReadRequest& request, std::uint64_t memory,
               std::int64_t now_nanos);
  // Like LookUp, for a hit that must be checked before it is given out. If the
  // entry is still cached, returns a miss that `confirms` it. `saves_nanos` is
  // that of the hit.
  Found CheckStaleness(const ExtentView& extent,
                       const std::shared_ptr<const std::string>& root,
                       storage::ReadRequest& request, std::uint64_t memory,
                       std::int64_t now_nanos, std::int64_t saves_nanos);
  // Returns whether the bytes are cached or in flight.
  bool Contains(const ExtentView& extent) const;
  // Begins a read ahead for the request's purpose, and takes the charge. The
  // caller must read it and call Complete. Returns null, and takes nothing, if
  // the bytes are cached or in flight.
  std::shared_ptr<InFlightRead> BeginAhead(
      const ExtentView& extent, const std::shared_ptr<const std::string>& root,
      const storage::ReadRequest& request, const EntryMetadata& metadata,
      Charge* charge);
  // Returns the purpose for which the read in flight is to be sent.
  storage::ReadPurpose BeginSending(InFlightRead& in_flight);
  // Notes the ticket of the read that was sent. Returns the purposes of the
  // other waiters.
  std::vector<storage::ReadPurpose> NoteSent(InFlightRead& in_flight,
                                             std::uint64_t ticket);
  // The read is done. Caches `kept`, or nothing if it is null. Returns the
  // waiters.
  std::vector<InFlightRead::Waiter> Complete(
      InFlightRead& in_flight, std::shared_ptr<const CachedBytes> kept, bool ok,
      std::int64_t now_nanos);

  // Caches a variant, unless it is cached already.
  void Insert(const ExtentView& extent,
              const std::shared_ptr<const std::string>& root,
              const EntryMetadata& metadata,
              std::shared_ptr<const CachedBytes> cached);
  // Removes an entry. Returns its metadata, or nullopt if it was not cached.
  std::optional<EntryMetadata> Drop(const ExtentView& extent);
  // Marks the entry as covered by a variant while `cover` exists. The next
  // reader of the bytes themselves ends that.
  void Cover(const ExtentView& extent,
             const std::shared_ptr<const void>& cover);

  // As in CandidateSet.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<CandidateSet::Candidate>* drawn) const;
  // Removes the candidate if it is still cached and no reader holds it.
  // Releasing the returned bytes frees their memory. Returns null if it did
  // not.
  std::shared_ptr<const CachedBytes> Evict(
      const CandidateSet::Candidate& candidate);

  // Moves the job's counts to the total, also those of reads that it still
  // waits for.
  void Forget(std::uint64_t job);
  void AddTo(Snapshot* snapshot) const;

 private:
  // Either `in_flight` or `cached` is set.
  struct Entry {
    std::shared_ptr<InFlightRead> in_flight;
    std::shared_ptr<const CachedBytes> cached;
    CandidateSet::Handle handle = 0;  // of `cached`
  };
  using Table = absl::node_hash_map<Extent, Entry, ExtentHash, ExtentEqual>;

  void InsertLocked(const ExtentView& extent,
                    const std::shared_ptr<const std::string>& root,
                    const std::shared_ptr<InFlightRead>& in_flight)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Found MissLocked(const ExtentView& extent,
                   const std::shared_ptr<const std::string>& root,
                   storage::ReadRequest& request, std::uint64_t memory,
                   std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Joins the read in flight if the revisions agree.
  Found JoinedLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                     std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                  std::int64_t now_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `cached` the entry's. `extent` is the entry's key in the table.
  void CacheLocked(Entry& entry, const Extent* extent,
                   const EntryMetadata& metadata,
                   std::shared_ptr<const CachedBytes> cached)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the entry's bytes; the entry itself stays.
  std::shared_ptr<const CachedBytes> RemoveCachedLocked(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the job's counts, or `forgotten_` if it was forgotten meanwhile.
  Traffic& TrafficLocked(std::uint64_t job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `confirmed`: the cached bytes were current, and nothing was read.
  void CountLocked(const InFlightRead& in_flight, bool confirmed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  Table table_ ABSL_GUARDED_BY(mutex_);
  CandidateSet candidates_ ABSL_GUARDED_BY(mutex_);
  // By handle of candidates_; null: free.
  std::vector<const Extent*> extents_ ABSL_GUARDED_BY(mutex_);
  // Of forgotten jobs.
  Traffic forgotten_ ABSL_GUARDED_BY(mutex_);
  // By job; of each since it was last forgotten.
  absl::flat_hash_map<std::uint64_t, Traffic> jobs_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t entry_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  VariantTally decoded_ ABSL_GUARDED_BY(mutex_);
  Tally evicted_ ABSL_GUARDED_BY(mutex_);
  Tally bypassed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_STRIPE_H_
