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

// Reads the neighbours of a sample together with it, as the reader's read-ahead
// hints list them. A neighbour is read if the reader wants it itself, or if
// other readers want it within about the same time. Its bytes are cached before
// any reader waits for them.
//
// Bytes that are evicted before their use would be read twice. A read ahead
// therefore takes free memory, and the memory of entries that are wanted later.
// Bytes that were themselves read ahead and are wanted within about the same
// time are never evicted for a read ahead. If there is too little memory, the
// remaining neighbours are read when they are wanted.
//
// Thread-safe. The cache owns it. The arguments of its constructor outlive it.
// Never blocks: read-ahead hints and NextUse are called without any lock. Has
// no errors.
class ReadAhead {
 public:
  // A sample whose neighbours are to be read.
  struct Trigger {
    std::shared_ptr<const storage::Root> root;
    std::shared_ptr<const storage::ReadAheadHints> read_ahead_hints;
    std::uint64_t sample = 0;
    // The job for which the neighbours are read, and the jobs that pay for
    // these reads. Both are those of the sample's request.
    std::uint64_t job = 0;
    std::shared_ptr<const std::vector<std::uint64_t>> payers;
    bool is_missed = false;  // the sample itself is read now
    bool is_due = false;     // the request's neighbours_due
  };

  ReadAhead(std::vector<Stripe>* stripes, Evictor* evictor,
            const NextUse* next_use)
      : stripes_(stripes), evictor_(evictor), next_use_(next_use) {}

  // Begins reads of the triggers' neighbours. Appends them to `misses`, with
  // their charges, for the caller to send. Triggers are in the order in which
  // their samples are wanted.
  void Begin(const std::vector<Trigger>& triggers, std::int64_t now_nanos,
             std::vector<Miss>* misses);

 private:
  using Neighbours = std::vector<storage::ReadAheadHint>;

  // Begins reads of the `neighbours` that FilterByNextUse leaves and that are
  // neither cached nor in flight. Returns false if one of them got no memory.
  bool BeginAll(const Trigger& trigger, Neighbours neighbours,
                std::int64_t now_nanos, Evictor::Draw* draw,
                std::vector<Miss>* misses);
  // Removes the neighbours that the reader does not want itself, unless others
  // want them soon. Writes to `nanos` the time until each remaining neighbour
  // is wanted. Returns the horizon: the time within which the reader wants its
  // own neighbours.
  Evictor::Horizon FilterByNextUse(Neighbours* neighbours,
                                   std::int64_t now_nanos,
                                   std::vector<std::int64_t>* nanos) const;

  std::vector<Stripe>* const stripes_;
  Evictor* const evictor_;
  const NextUse* const next_use_;
  // The number of triggers still to skip. If a neighbour got no memory, the
  // next ones would hardly get any, and each attempt takes time.
  std::atomic<int> skips_left_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_AHEAD_H_
