#ifndef FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_
#define FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_

#include <cstddef>
#include <cstdint>

namespace forebay::storage {

// The requests of a SharedOutSource at one moment.
struct SourceState {
  // The number of simultaneous requests that the source aims at.
  std::size_t concurrency = 0;
  // Requests that are in flight, or that wait to be made again.
  std::size_t in_flight = 0;
  // Requests that wait for their turn in the queue.
  std::size_t waiting = 0;
  // Requests that have waited below for so long that `in_flight` no longer
  // counts them.
  std::size_t stalled = 0;
  // The bytes that each request is charged for besides its own bytes.
  std::int64_t request_cost = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_
