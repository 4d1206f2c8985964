#ifndef FOREBAY_SERVER_STREAM_LISTINGS_H_
#define FOREBAY_SERVER_STREAM_LISTINGS_H_

#include <memory>
#include <vector>

#include "server/cache/timetable.h"
#include "server/dataset/dataset.h"
#include "server/stream/itinerary.h"

namespace forebay::stream {

// A stream's itinerary in the timetable, until this is destroyed: a line for
// each dataset that its samples come from, by the numbers that they have there.
//
// Thread-safe. Owned by the stream; shares dataset and itinerary; the timetable
// (null: there is none) outlives it. Never blocks; no errors.
class Listings {
 public:
  Listings(cache::Timetable* timetable,
           const std::shared_ptr<const dataset::Dataset>& dataset,
           const std::shared_ptr<const Itinerary>& itinerary);

 private:
  std::vector<std::unique_ptr<cache::Timetable::Listing>> listings_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_LISTINGS_H_
