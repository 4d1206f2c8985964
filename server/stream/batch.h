#ifndef FOREBAY_SERVER_STREAM_BATCH_H_
#define FOREBAY_SERVER_STREAM_BATCH_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace forebay::stream {

// A batch in the making. The stream's mutex guards it, but for the slot's
// memory: each place of it belongs to the one task that fills it.
struct Batch {
  struct Place {
    std::uint64_t sample = 0;
    std::uint32_t substitutions = 0;
  };

  std::uint32_t slot = 0;
  std::uint8_t* data = nullptr;  // the slot's memory
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;
  bool last = false;             // of its epoch
  std::uint32_t next_place = 0;  // places before it have been asked for
  std::uint32_t remaining = 0;   // places that are not done
  std::vector<Place> places;
  // The error of the lowest place that has one.
  absl::Status error;
  std::uint32_t error_place = 0;
  // Set when nobody wants the batch any more: tasks then skip their work.
  std::atomic<bool> abandoned = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_H_
