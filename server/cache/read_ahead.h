#ifndef FOREBAY_SERVER_CACHE_READ_AHEAD_H_
#define FOREBAY_SERVER_CACHE_READ_AHEAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "server/cache/evictor.h"
#include "server/cache/miss.h"
#include "server/cache/next_use.h"
#include "server/cache/stripe.h"
#include "server/storage/byte_source.h"
#include "server/storage/read_ahead_hints.h"

namespace forebay::cache {

// Reads the neighbours of a sample together with it. The reader's read-ahead
// hints list them. It reads all that the reader wants itself, and those that
// others want about as soon. The bytes are cached before any reader waits for
// them.
//
// Bytes that are evicted before their use would be read twice. So a read ahead
// takes free memory and that of entries that are wanted later. It never evicts
// bytes that were read ahead and are wanted as soon. If the cache is too small,
// the remaining neighbours are read when they are wanted.
//
// Thread-safe. Owned by the cache. The arguments of its constructor outlive it.
// Never blocks: calls read-ahead hints and NextUse without any lock. No errors.
class ReadAhead {
 public:
  // A sample whose neighbours are to be read.
  struct Trigger {
    std::shared_ptr<const storage::Root> root;
    std::shared_ptr<const storage::ReadAheadHints> read_ahead_hints;
    std::uint64_t sample = 0;
    // The neighbours are read for the same job, at the expense of the same
    // payers.
    std::uint64_t job = 0;
    std::shared_ptr<const std::vector<std::uint64_t>> payers;
    bool is_missed = false;  // the sample itself is read now
    bool is_due = false;     // as the request's neighbours_due
  };

  ReadAhead(std::vector<Stripe>* stripes, Evictor* evictor,
            const NextUse* next_use)
      : stripes_(stripes), evictor_(evictor), next_use_(next_use) {}

  // Appends the reads in flight that it began to `misses`, with their charges.
  // Triggers are in the order in which their samples are wanted.
  void Begin(const std::vector<Trigger>& triggers, std::int64_t now_nanos,
             std::vector<Miss>* misses);

 private:
  using Neighbours = std::vector<storage::ReadAheadHint>;

  // Returns false if one of them got no memory.
  bool BeginAll(const Trigger& trigger, Neighbours neighbours,
                std::int64_t now_nanos, Evictor::Draw* draw,
                std::vector<Miss>* misses);
  // Writes when each neighbour is wanted, and removes those that are not wanted
  // soon. Returns the time within which all others are wanted.
  Evictor::Horizon FilterByNextUse(Neighbours* neighbours,
                                   std::int64_t now_nanos,
                                   std::vector<std::int64_t>* nanos) const;

  std::vector<Stripe>* const stripes_;
  Evictor* const evictor_;
  const NextUse* const next_use_;
  // Triggers to skip. After a failure there is no memory for a while, and each
  // attempt takes time.
  std::atomic<int> skips_left_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_AHEAD_H_
