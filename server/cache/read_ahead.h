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

// Begins to read what lies beside a sample that is read, and is wanted soon:
// of what its reader's read-ahead hints lists, all that the reader wants
// itself, and what others want about as soon. It is read with the sample, to be
// kept, while nobody waits for it yet.
//
// What is read ahead must not go before it is used, or it would be read twice:
// it takes free room, and that of what is wanted later, but not of what was
// read ahead itself and is wanted as soon as it is. So where the cache is too
// small, what has no room is left to be read when it is wanted.
//
// Thread-safe. Owned by the cache; all that it is made with outlives it. Never
// blocks; asks read-ahead hints and NextUse without any lock. No errors.
class ReadAhead {
 public:
  // One whose neighbours are to be read.
  struct Occasion {
    std::shared_ptr<const storage::Root> root;
    std::shared_ptr<const storage::ReadAheadHints> read_ahead_hints;
    std::uint64_t sample = 0;
    // For whom, and who pays: so they are the neighbours'.
    std::uint64_t job = 0;
    std::shared_ptr<const std::vector<std::uint64_t>> payers;
    bool is_missed = false;  // it is read itself
    bool is_due = false;     // as the request's neighbours_due
  };

  ReadAhead(std::vector<Stripe>* stripes, Evictor* evictor,
            const NextUse* next_use)
      : stripes_(stripes), evictor_(evictor), next_use_(next_use) {}

  // Adds to `misses` the read in flight that it began, with their charges.
  // Occasions come in the order in which their samples are wanted.
  void Begin(const std::vector<Occasion>& occasions, std::int64_t now_nanos,
             std::vector<Miss>* misses);

 private:
  using Neighbours = std::vector<storage::ReadAheadHint>;

  // False: there was no room for one.
  bool BeginAll(const Occasion& occasion, Neighbours neighbours,
                std::int64_t now_nanos, Evictor::Draw* draw,
                std::vector<Miss>* misses);
  // When each is wanted; shortens the list by who is not wanted soon. Returns
  // within what time all are that stay.
  Evictor::Horizon KeepWanted(Neighbours* neighbours, std::int64_t now_nanos,
                              std::vector<std::int64_t>* nanos) const;

  std::vector<Stripe>* const stripes_;
  Evictor* const evictor_;
  const NextUse* const next_use_;
  // Occasions that are let pass: where there was no room, there is none for a
  // while, and it takes time to find that out.
  std::atomic<int> passing_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_AHEAD_H_
