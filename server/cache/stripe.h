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

// Bytes that are kept, and the room they take until the last reader has let go
// of them.
struct CachedBytes {
  Charge charge;
  Charge variant_charge;  // of another variant than what was read: among those
  // Of another variant: what covers the bytes that it was made of.
  std::shared_ptr<const void> cover;
  storage::Revision revision;  // of the object, when the bytes were read
  base::Bytes bytes;           // goes before its room is given back
};

// A read below, from the first miss until it completes; or a question, whether
// what is kept may still be given out.
struct InFlightRead {
  struct Waiter {
    storage::ReadPurpose purpose;
    storage::ReadDone done;
  };

  // Not written once the read in flight is in the stripe.
  const Extent* extent = nullptr;  // the stripe's
  storage::Revision wanted;        // of the object; nobody joins for another
  // Of who began it alone.
  Charge charge;  // empty: not to be kept
  // What gave the bytes below, once they are read.
  storage::Origin origin = storage::Origin::kSource;
  // What was kept, where nothing is read as long as the object is what it was.
  std::shared_ptr<const CachedBytes> confirms;
  // For whom it is read, if nobody waited for it when it was begun.
  std::optional<storage::ReadPurpose> ahead;

  // The stripe's mutex guards these.
  std::vector<Waiter> waiters;  // who began it comes first, unless `ahead`
  std::size_t lead = 0;         // the waiter for whom it was sent
  EntryMetadata metadata;       // what it is to be kept as
  std::uint64_t ticket = 0;     // below; 0: not there yet
};

// One of the cache's parts: a table of what is kept and what is being read,
// under a lock of its own, which is held for a microsecond or two. The cache
// finds the part by the extent's hash.
//
// Thread-safe. Owned by the cache. Never blocks; neither frees bytes nor calls
// anybody while its lock is held. No errors.
class Stripe {
 public:
  struct Found {
    std::shared_ptr<const CachedBytes> hit;
    std::int64_t saves_nanos = 0;  // as EntryMetadata's
    std::shared_ptr<InFlightRead>
        missed;  // the caller is to read, and then to Complete
    // The read that was joined, if it is under way below; 0: none.
    std::uint64_t joined = 0;
    // Of another variant than kEncoded, which no read below gives: it is not
    // there, or under way for another revision.
    bool absent = false;
    // The bytes are under way for another revision: the caller is to read them
    // for this request alone.
    bool apart = false;
  };

  // A hit leaves the request alone; a miss or a joined read takes its `done`.
  // `memory` is what the bytes would take.
  Found Look(const ExtentView& extent,
             const std::shared_ptr<const std::string>& root,
             storage::ReadRequest& request, std::uint64_t memory,
             std::int64_t now_nanos);
  // What Look found must be confirmed before it is given out: as Look, but what
  // is missed `confirms` what was found, if that is there still. `saves_nanos`
  // is what was found with it.
  Found CheckStaleness(const ExtentView& extent,
                       const std::shared_ptr<const std::string>& root,
                       storage::ReadRequest& request, std::uint64_t memory,
                       std::int64_t now_nanos, std::int64_t saves_nanos);
  // Whether the bytes are there, or under way.
  bool Knows(const ExtentView& extent) const;
  // Begins a read in flight that nobody waits for yet, for the request's
  // purpose; takes the charge. Null, and nothing is taken: the bytes are known.
  // The caller is to read what it got, and then to Complete.
  std::shared_ptr<InFlightRead> BeginAhead(
      const ExtentView& extent, const std::shared_ptr<const std::string>& root,
      const storage::ReadRequest& request, const EntryMetadata& metadata,
      Charge* charge);
  // The read in flight is about to be sent below: for whom that is.
  storage::ReadPurpose BeginSending(InFlightRead& in_flight);
  // It has been sent, under that ticket. Returns who waits besides.
  std::vector<storage::ReadPurpose> NoteSent(InFlightRead& in_flight,
                                             std::uint64_t ticket);
  // The read is done: `kept` is what to keep, null if nothing. Returns who
  // waited.
  std::vector<InFlightRead::Waiter> Complete(
      InFlightRead& in_flight, std::shared_ptr<const CachedBytes> kept, bool ok,
      std::int64_t now_nanos);

  // Keeps another variant of what was read, unless it is there.
  void Keep(const ExtentView& extent,
            const std::shared_ptr<const std::string>& root,
            const EntryMetadata& metadata,
            std::shared_ptr<const CachedBytes> cached);
  // Lets go of it, if it is cached: as what it was kept; nullopt if not.
  std::optional<EntryMetadata> Drop(const ExtentView& extent);
  // Another variant of it is kept as long as `cover` is there. Ends with the
  // next that wants what was read all the same.
  void Cover(const ExtentView& extent,
             const std::shared_ptr<const void>& cover);

  // As CandidateSet's.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<CandidateSet::Candidate>* drawn) const;
  // Gives the candidate up, if it is still there and no reader holds it: then
  // letting go of what is returned makes room. Null if not.
  std::shared_ptr<const CachedBytes> Evict(
      const CandidateSet::Candidate& candidate);

  // From now on the job counts among the total only, with the reads that it
  // still waits for.
  void Forget(std::uint64_t job);
  void AddTo(Snapshot* snapshot) const;

 private:
  // Either is set.
  struct Entry {
    std::shared_ptr<InFlightRead> in_flight;
    std::shared_ptr<const CachedBytes> cached;
    CandidateSet::Handle handle = 0;  // of what is cached
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
  // Of what is under way.
  Found JoinedLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                     std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                  std::int64_t now_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The entry, whose extent `extent` is the table's, holds it from now on.
  void CacheLocked(Entry& entry, const Extent* extent,
                   const EntryMetadata& metadata,
                   std::shared_ptr<const CachedBytes> cached)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives up what the entry holds; the entry stays.
  std::shared_ptr<const CachedBytes> RemoveCachedLocked(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where what the job has read already is counted: it may be forgotten since.
  Traffic& TrafficLocked(std::uint64_t job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `confirmed`: it read nothing, for what was kept is true.
  void CountLocked(const InFlightRead& in_flight, bool confirmed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  Table table_ ABSL_GUARDED_BY(mutex_);
  CandidateSet candidates_ ABSL_GUARDED_BY(mutex_);
  // By candidates_'s handles; null: free.
  std::vector<const Extent*> extents_ ABSL_GUARDED_BY(mutex_);
  // Of jobs that were forgotten.
  Traffic forgotten_ ABSL_GUARDED_BY(mutex_);
  // Of who has read since it was forgotten, if ever.
  absl::flat_hash_map<std::uint64_t, Traffic> jobs_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t entry_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  VariantTally decoded_ ABSL_GUARDED_BY(mutex_);
  Tally evicted_ ABSL_GUARDED_BY(mutex_);
  Tally bypassed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_STRIPE_H_
