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
#include "server/cache/cache_snapshot.h"
#include "server/cache/candidate_set.h"
#include "server/cache/extent.h"
#include "server/cache/memory_ledger.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Cached bytes, with the charge for their memory until the last reader releases
// them.
struct CachedBytes {
  Charge charge;          // counts among all entries
  Charge variant_charge;  // counts among variants; empty for bytes as read
  // A variant's token, which marks the bytes that it was made of as covered.
  std::shared_ptr<const void> cover;
  storage::Revision revision;  // of the object when it was read
  base::Bytes bytes;           // destroyed before its charge is released
};

// A read from the source below, from the first miss until it completes; or a
// check whether cached bytes are current.
struct InFlightRead {
  struct Waiter {
    storage::ReadPurpose purpose;
    storage::ReadDone done;
  };

  // `extent` and `wanted` are constant once the read in flight is in the
  // stripe.
  const Extent* extent = nullptr;  // the key in the stripe's table
  // The revision of the object that was asked for. Requests for another
  // revision do not join the read.
  storage::Revision wanted;
  // The memory that the bytes will take; empty if they are not to be cached.
  // Only the thread that began the read writes it.
  Charge charge;
  // The tier that gave the bytes, once they have been read.
  storage::Origin origin = storage::Origin::kSource;
  // The cached bytes to check; null for a plain read. The source reads the
  // bytes again only if the object has changed.
  std::shared_ptr<const CachedBytes> confirms;
  // The purpose of a read ahead, which began without waiters.
  std::optional<storage::ReadPurpose> ahead;

  // The stripe's mutex guards the members that follow. The first waiter began
  // the read, unless it is a read ahead.
  std::vector<Waiter> waiters;
  std::size_t lead = 0;      // index of the waiter whose purpose was sent
  EntryMetadata metadata;    // of the future entry of the bytes
  std::uint64_t ticket = 0;  // of the read below; 0 before it is sent
};

// A part of the cache: a table of cached bytes and reads in flight under one
// lock, which is held for a microsecond or two. The hash of an extent, which is
// an entry's key, selects the stripe.
//
// Thread-safe. The cache owns its stripes. Never blocks: no bytes are freed and
// no callback is called under the lock. Has no errors.
class Stripe {
 public:
  // The outcome of a lookup. If no member is set, the request has joined a read
  // that was not sent yet.
  struct LookUpResult {
    std::shared_ptr<const CachedBytes> hit;
    std::int64_t saves_nanos = 0;  // of the hit; see EntryMetadata
    // The read that the caller must send.
    std::shared_ptr<InFlightRead> missed;
    // The ticket of the joined read below; 0 if it was not sent yet.
    std::uint64_t joined = 0;
    // Whether a variant is not cached, or is being checked for another
    // revision. No read below gives variants other than kEncoded.
    bool absent = false;
    // Whether the bytes are in flight for another revision, so that the caller
    // must read them for this request alone.
    bool read_alone = false;
  };

  // Finds the bytes, joins their read in flight, or begins one. A hit leaves
  // the request unchanged; a miss or a joined read takes its `done`. `memory`
  // is the number of bytes of memory that the entry would take.
  LookUpResult LookUp(const ExtentView& extent,
                      const std::shared_ptr<const std::string>& root,
                      storage::ReadRequest& request, std::uint64_t memory,
                      std::int64_t now_nanos);
  // Looks up again a hit that must be checked before it is given out. If the
  // entry is still cached, returns a miss whose `confirms` is the entry's
  // bytes; otherwise does what LookUp does. `saves_nanos` is
  // LookUpResult::saves_nanos of that hit.
  LookUpResult CheckStaleness(const ExtentView& extent,
                              const std::shared_ptr<const std::string>& root,
                              storage::ReadRequest& request,
                              std::uint64_t memory, std::int64_t now_nanos,
                              std::int64_t saves_nanos);
  // Returns whether the bytes are cached or in flight.
  bool Contains(const ExtentView& extent) const;
  // Begins a read ahead for the request's purpose, and takes the charge. The
  // caller must send the read and call Complete. Returns null, and takes
  // nothing, if the bytes are cached or in flight.
  std::shared_ptr<InFlightRead> BeginAhead(
      const ExtentView& extent, const std::shared_ptr<const std::string>& root,
      const storage::ReadRequest& request, const EntryMetadata& metadata,
      Charge* charge);
  // Returns the purpose for which the read in flight is to be sent: that of its
  // most urgent waiter.
  storage::ReadPurpose BeginSending(InFlightRead& in_flight);
  // Notes the ticket of the read that was sent. Returns the purposes of the
  // waiters that the source does not know of yet.
  std::vector<storage::ReadPurpose> NoteSent(InFlightRead& in_flight,
                                             std::uint64_t ticket);
  // Ends a read in flight, which succeeded if `ok`. Caches `to_cache`, or
  // nothing if it is null. Returns the waiters, for the caller to answer.
  std::vector<InFlightRead::Waiter> Complete(
      InFlightRead& in_flight, std::shared_ptr<const CachedBytes> to_cache,
      bool ok, std::int64_t now_nanos);

  // Caches a variant, unless it is cached already.
  void Insert(const ExtentView& extent,
              const std::shared_ptr<const std::string>& root,
              const EntryMetadata& metadata,
              std::shared_ptr<const CachedBytes> cached);
  // Removes an entry. Returns its metadata, or nullopt if it was not cached.
  std::optional<EntryMetadata> Drop(const ExtentView& extent);
  // Marks the entry as covered by a variant while `cover` exists. The next
  // reader of the bytes themselves removes the mark.
  void Cover(const ExtentView& extent,
             const std::shared_ptr<const void>& cover);

  // Appends random entries to `drawn`, as CandidateSet::Draw does.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<CandidateSet::Candidate>* drawn) const;
  // Removes the candidate if it is still cached and no reader holds its bytes.
  // Returns the bytes, whose release frees the memory; null if the candidate
  // was not removed.
  std::shared_ptr<const CachedBytes> Evict(
      const CandidateSet::Candidate& candidate);

  // Adds the job's counts to those of forgotten jobs. Reads that the job still
  // waits for will count there, too.
  void Forget(std::uint64_t job);
  // Adds the stripe's counts to `snapshot`.
  void AddTo(CacheSnapshot* snapshot) const;

 private:
  // A row of the table, in which either `in_flight` or `cached` is set.
  struct Entry {
    std::shared_ptr<InFlightRead> in_flight;
    std::shared_ptr<const CachedBytes> cached;
    CandidateSet::Handle handle = 0;  // of the metadata of `cached`
  };
  using Table = absl::node_hash_map<Extent, Entry, ExtentHash, ExtentEqual>;

  // Adds a row for a read in flight.
  void InsertLocked(const ExtentView& extent,
                    const std::shared_ptr<const std::string>& root,
                    const std::shared_ptr<InFlightRead>& in_flight)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins a read of bytes that are not in the table. For a variant, sets
  // LookUpResult::absent instead.
  LookUpResult MissLocked(const ExtentView& extent,
                          const std::shared_ptr<const std::string>& root,
                          storage::ReadRequest& request, std::uint64_t memory,
                          std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Joins the request to the read in flight if the revisions agree.
  LookUpResult JoinedLocked(InFlightRead& in_flight,
                            storage::ReadRequest& request,
                            std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the request to the waiters of a read in flight.
  void JoinLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                  std::int64_t now_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the entry's bytes to `cached`. `extent` is the entry's key in the
  // table.
  void CacheLocked(Entry& entry, const Extent* extent,
                   const EntryMetadata& metadata,
                   std::shared_ptr<const CachedBytes> cached)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes and returns the entry's bytes. The entry itself stays in the table.
  std::shared_ptr<const CachedBytes> RemoveCachedLocked(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the job's counts, or `forgotten_` if the job was forgotten
  // meanwhile.
  Traffic& TrafficLocked(std::uint64_t job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a read that succeeded, for each of its waiters. If `confirmed`, the
  // cached bytes were current, and nothing was read.
  void CountLocked(const InFlightRead& in_flight, bool confirmed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  Table table_ ABSL_GUARDED_BY(mutex_);
  CandidateSet candidates_ ABSL_GUARDED_BY(mutex_);
  // The key of each entry in the table, by the entry's handle in `candidates_`;
  // null if the handle is free.
  std::vector<const Extent*> extents_ ABSL_GUARDED_BY(mutex_);
  // The traffic of forgotten jobs.
  Traffic forgotten_ ABSL_GUARDED_BY(mutex_);
  // The traffic of each job since the job was last forgotten.
  absl::flat_hash_map<std::uint64_t, Traffic> jobs_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t entry_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  VariantTally decoded_ ABSL_GUARDED_BY(mutex_);
  Tally evicted_ ABSL_GUARDED_BY(mutex_);
  Tally bypassed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_STRIPE_H_
