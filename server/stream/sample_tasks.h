#ifndef FOREBAY_SERVER_STREAM_SAMPLE_TASKS_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_TASKS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "server/executor/executor.h"
#include "server/stream/batch.h"
#include "server/stream/decode_queue.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member_set.h"
#include "server/stream/produced_samples.h"
#include "server/stream/sample_cost.h"

namespace forebay::stream {

// A task of the executor that makes samples, to be submitted.
struct SampleTask {
  executor::Demand demand;
  DecodeQueues::Flows flows;  // the payers
  // The one sample that it takes, and its lane, if samples have lanes.
  const PendingSample* in_lane = nullptr;
  std::optional<std::uint32_t> lane = std::nullopt;
};

// Decides which samples that were read make one task of the executor, and when
// that may be submitted. Where producers make the samples, there are at most as
// many tasks as producers; of a lane, one sample at a time, in order.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns the samples that wait. Never blocks; no errors.
class SampleTasks {
 public:
  using Flows = DecodeQueues::Flows;

  // `produced`: null if the daemon makes the samples.
  SampleTasks(int workers, const ProducedSamples* produced, bool has_lanes,
              const MemberSet* members, const InFlightBatches* in_flight)
      : produced_(produced),
        has_lanes_(has_lanes),
        members_(members),
        in_flight_(in_flight),
        queues_(workers),
        cost_(produced == nullptr ? SampleCost::OfDecoded()
                                  : SampleCost::OfProduced()) {}

  // Queues a sample that was read, for the payers of its batch.
  void Add(ReadSample sample);
  // Queues one that a task took before.
  void AddAgain(ReadSample sample);
  // Moves the batch's samples to other payers.
  void Move(const Batch& batch, const Flows& from, const Flows& to) {
    queues_.Move(batch, from, to);
  }

  // Returns one more task for samples that these flows pay for, if their queue
  // wants one. Until the first sample is measured, one at a time is under way:
  // many long ones that are taken for short would hold what short ones need.
  std::optional<SampleTask> Next(const Flows& charged);
  // Returns one more task that producers have room for, whoever pays; nullopt
  // also if the daemon makes the samples.
  std::optional<SampleTask> NextProduced();
  // Takes the samples of a task that begins, perhaps none.
  std::vector<ReadSample> Take(const SampleTask& task);
  // Says that a task of these flows' is done that began before any sample was
  // measured.
  void EndGuessed(const Flows& charged) { guesses_.erase(charged); }
  // Says that a producer's task is done.
  void EndProduced(std::optional<std::uint32_t> lane);

  // The demand of a task for so many samples, of which `first` is first.
  executor::Demand DemandOf(const PendingSample& first,
                            std::uint32_t samples) const;
  SampleCost& cost() { return cost_; }

 private:
  std::optional<SampleTask> NextOfProducers(const Flows& charged);
  // Whether the sample is the next one of its lane, where nothing is made now.
  bool IsNextInLane(const PendingSample& pending) const;

  const ProducedSamples* const produced_;
  const bool has_lanes_;
  const MemberSet* const members_;
  const InFlightBatches* const in_flight_;
  DecodeQueues queues_;
  SampleCost cost_;
  // The payers of the tasks under way whose cost is guessed.
  std::set<Flows> guesses_;
  // Of producers, submitted or under way.
  std::uint32_t produce_tasks_ = 0;
  std::set<std::uint32_t> busy_lanes_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_TASKS_H_
