#ifndef FOREBAY_SERVER_PRODUCER_STALL_POLICY_H_
#define FOREBAY_SERVER_PRODUCER_STALL_POLICY_H_

#include <cstdint>
#include <optional>

namespace forebay::producer {

// Why a producer was ended whose task another one is to do.
enum class Stall {
  kStopped,  // a signal had stopped it
  kAsleep,   // it had used no CPU time for far longer than tasks take
};

// A producer that has a task, as it was seen last.
struct BusyProducer {
  std::int64_t asked_at_nanos = 0;
  // When its CPU time was first seen to be what it is now.
  std::int64_t still_since_nanos = 0;
  // When it was first seen to be stopped; nullopt if it is not.
  std::optional<std::int64_t> stopped_since_nanos = std::nullopt;
  // Whether a sample of the task was taken from a sleeping producer before.
  bool has_retried = false;
};

// The state of the other processes.
struct StallContext {
  std::int64_t now_nanos = 0;
  // Whether a trainer that runs waits for a batch.
  bool is_awaited = false;
  // When the host answered last, and when any producer did; INT64_MIN: never.
  std::int64_t host_answered_at_nanos = INT64_MIN;
  std::int64_t producer_answered_at_nanos = INT64_MIN;
  // The time that a task takes on average.
  std::int64_t task_nanos = 0;
};

// Whether the producer's task should go to another, and why. The producer must
// be killed first: it may be in the middle of writing the sample, and another
// batch may have its place by the time that it goes on.
//
// A stopped producer loses its task if its host answers, which then can fork
// another; if the whole job is paused, all of it stays as it is. A producer
// that sleeps may wait for a slow server. So it loses a task only where others
// work, after a minute and twenty times what tasks take, and each sample once:
// what takes as long again is waited for.
std::optional<Stall> FindStall(const BusyProducer& producer,
                               const StallContext& context);

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_STALL_POLICY_H_
