#ifndef FOREBAY_SERVER_CACHE_MISS_H_
#define FOREBAY_SERVER_CACHE_MISS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/cache/candidate_set.h"
#include "server/cache/stripe.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// A read in flight that is about to be sent to the source below.
struct Miss {
  std::size_t stripe = 0;  // index of the stripe that has it
  std::shared_ptr<InFlightRead> in_flight;
  storage::ReadRequest request;  // without `done`, which the stripe has taken
  EntryMetadata metadata;        // of the future entry of the bytes
  std::uint64_t ticket = 0;      // of the read below; 0 before it is sent
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_MISS_H_
