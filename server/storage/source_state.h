#ifndef FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_
#define FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_

#include <cstddef>
#include <cstdint>

namespace forebay::storage {

// A source that shares its requests out among jobs, at one moment.
struct SourceState {
  std::size_t concurrency = 0;  // requests at once, aimed at
  std::size_t in_flight = 0;    // requests that are in flight or repeated
  std::size_t waiting = 0;      // for their turn
  // Requests that have waited for so long that they count no longer.
  std::size_t stalled = 0;
  // The bytes that a request counts as among jobs, besides its own.
  std::int64_t request_cost = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SOURCE_STATE_H_
