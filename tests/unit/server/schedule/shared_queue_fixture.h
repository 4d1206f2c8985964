#ifndef FOREBAY_TESTS_UNIT_SERVER_SCHEDULE_SHARED_QUEUE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_SCHEDULE_SHARED_QUEUE_FIXTURE_H_

#include <cstdint>

#include "server/schedule/shared_queue.h"

namespace forebay::schedule {

inline Load Same(std::int64_t amount) {
  return {.cost = amount, .units = amount};
}

// Pops an item, and completes it with its estimated cost. Returns -1 if there
// is none.
inline int Next(SharedQueue<int>& queue, const Load& load = Same(10),
                std::int64_t now = 0) {
  const auto popped = queue.Pop(now);
  if (!popped.has_value()) return -1;
  queue.Complete(popped->id, load, now);
  return popped->item;
}

}  // namespace forebay::schedule

#endif  // FOREBAY_TESTS_UNIT_SERVER_SCHEDULE_SHARED_QUEUE_FIXTURE_H_
