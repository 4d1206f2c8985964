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

// A task that makes samples, to be submitted to the executor.
struct SampleTask {
  executor::Demand demand;
  // The flows that pay for the task.
  DecodeQueues::Flows flows;
  // If samples have worker affinity: the one sample that the task takes, and
  // the number of the worker that must make it.
  const PendingSample* with_affinity = nullptr;
  std::optional<std::uint32_t> affinity = std::nullopt;
};

// Decides which samples that were read make one task of the executor, and when
// the task may be submitted. If workers make the samples, there are at most as
// many tasks as workers. If samples have worker affinity, each worker gets one
// sample at a time, in order.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns the samples that wait. Never blocks. No errors.
class SampleTasks {
 public:
  using Flows = DecodeQueues::Flows;

  // `places` is the number of the executor's threads that tasks may run on.
  // `produced` is null if the daemon makes the samples.
  SampleTasks(int places, const ProducedSamples* produced, bool has_affinity,
              const MemberSet* members, const InFlightBatches* in_flight)
      : produced_(produced),
        has_affinity_(has_affinity),
        members_(members),
        in_flight_(in_flight),
        queues_(places),
        cost_(produced == nullptr ? SampleCost::OfDecoded()
                                  : SampleCost::OfProduced()) {}

  // Queues a sample that was read, for the payers of its batch.
  void Add(ReadSample sample);
  // Queues, in front, a sample that a task took but did not make.
  void AddAgain(ReadSample sample);
  // Moves the batch's samples to other payers.
  void Move(const Batch& batch, const Flows& from, const Flows& to) {
    queues_.Move(batch, from, to);
  }

  // Returns one more task for samples that the flows `charged` pay for, if
  // their queue wants one. Until the first sample is measured, these flows have
  // only one task under way. Such tasks count as short. If samples took long,
  // several such tasks would hold the threads that short tasks need.
  std::optional<SampleTask> Next(const Flows& charged);
  // Returns one more task that workers have room for, whichever flows pay.
  // Returns nullopt if there is none, or if the daemon makes the samples.
  std::optional<SampleTask> NextProduced();
  // Takes the samples of a task that begins, perhaps none.
  std::vector<ReadSample> Take(const SampleTask& task);
  // Books the end of a task that Next returned for the flows `charged` before
  // any sample was measured.
  void EndGuessed(const Flows& charged) { guesses_.erase(charged); }
  // Tells that a worker's task is done.
  void EndProduced(std::optional<std::uint32_t> affinity);

  // Returns the demand of a task for `samples` samples, the first of them
  // `first`.
  executor::Demand DemandOf(const PendingSample& first,
                            std::uint32_t samples) const;
  SampleCost& cost() { return cost_; }

 private:
  std::optional<SampleTask> NextOfWorkers(const Flows& charged);
  // Whether the sample is the next one of its worker, and that worker makes
  // none now.
  bool IsNextWithAffinity(const PendingSample& pending) const;

  const ProducedSamples* const produced_;
  const bool has_affinity_;
  const MemberSet* const members_;
  const InFlightBatches* const in_flight_;
  DecodeQueues queues_;
  SampleCost cost_;
  // The flows of the tasks under way whose cost is guessed.
  std::set<Flows> guesses_;
  // The number of workers' tasks that are submitted or under way.
  std::uint32_t produce_tasks_ = 0;
  // The numbers of the workers that these tasks need, if samples have affinity.
  std::set<std::uint32_t> busy_workers_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_TASKS_H_
