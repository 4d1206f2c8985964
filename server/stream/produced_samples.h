#ifndef FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_
#define FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/producer_socket.h"
#include "server/executor/executor.h"
#include "server/producer/producer.h"
#include "server/producer/producer_set.h"
#include "server/producer/task_socket.h"
#include "server/stream/batch_layout.h"
#include "server/stream/read_sample.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Has the samples of a stream made by producers, straight into their rows of
// the slot, or of the staging memory. Or has the user's code in its pipeline
// run by them: on what lies on the samples' desks. While a producer computes,
// the task that asked it keeps its worker of the executor, whose core the
// producer takes, for some milliseconds. While no producer is there, or the
// producer takes longer, sleeps or is stopped, the task keeps none.
//
// Thread-safe. All that it is made with outlives it. Make blocks while the
// producer computes. Errors: those of ProducerSet, as ABORTED; UNKNOWN: the
// user's code failed, and the message is its own; both of each sample.
class ProducedSamples {
 public:
  // The end of a task.
  struct Outcome {
    // Each with its status, or `lost` if it is to be made again.
    std::vector<ReadSample> samples;
    std::int64_t cpu_nanos = 0;  // that the samples took
    // The time from the request to the answer, in nanoseconds, without that in
    // which the producer waited for a core; nullopt without an answer.
    std::optional<std::int64_t> took_nanos;
    // The task's worker of the executor, while it keeps one.
    std::optional<int> worker;
  };
  using Done = std::function<void(Outcome outcome)>;
  // Has a task run by the executor, for those who pay for the sample.
  using Submit = std::function<void(const PendingSample& pending,
                                    executor::Executor::Task task)>;

  // `submit` is called on any thread, without locks.
  ProducedSamples(const StreamSpec* spec, const BatchLayout* layout,
                  const StreamDeps* deps, Submit submit);

  const std::shared_ptr<producer::ProducerSet>& producers() const {
    return producers_;
  }

  // The number of the producer that is to make the sample; nullopt: any may.
  std::optional<std::uint32_t> LaneOf(const PendingSample& pending) const;

  // Has the samples made by one producer, that of the first one's lane if there
  // are any; passes over those that have failed. To be called by a task that
  // runs with this worker of the executor, at most producers()->most() at once.
  // Calls `done` on this thread, or later on another.
  void Make(int worker, std::vector<ReadSample> samples, Done done);

 private:
  using ProducerPtr = producer::ProducerPtr;
  using AnswerOr = absl::StatusOr<producer::Answer>;
  // A task under way. Functions must be copyable, so that they share it.
  struct Work {
    std::vector<ReadSample> samples;
    Done done;
    ProducerPtr producer = nullptr;
    std::int64_t asked_at_nanos = 0;
    // The producer's RunQueueNanos at that time.
    std::optional<std::int64_t> run_queue_nanos = std::nullopt;
  };
  using WorkPtr = std::shared_ptr<Work>;

  // Goes on with a producer, or without.
  void Run(int worker, const WorkPtr& work,
           absl::StatusOr<ProducerPtr> producer);
  // Asks the producer for those samples that are still wanted. Returns whether
  // there are any.
  bool Ask(Work& work);
  // Waits while the producer computes. DEADLINE_EXCEEDED: it does so no longer.
  static AnswerOr AwaitBusy(producer::Producer& producer);
  // Takes what the producer answered.
  void OnAnswer(const WorkPtr& work, AnswerOr answer,
                std::optional<int> worker);
  // The time that an answered task took, as Outcome's. On a host with more work
  // than cores, tasks would otherwise shrink to single samples, as of producers
  // that sleep, and each would be made with cold caches.
  std::int64_t TookNanos(const Work& work) const;
  // Ends the task of a producer that has answered, or is gone.
  void Finish(const WorkPtr& work, const AnswerOr& answer,
              std::optional<int> worker);
  void Take(Work& work, const AnswerOr& answer);
  // Appends the sample to what stands behind a task.
  void Describe(const PendingSample& pending,
                std::vector<std::uint8_t>* behind) const;
  // The number by which tasks name memory of the sample's batch.
  std::uint32_t NumberOf(const std::uint8_t* memory) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  const StreamDeps* const deps_;
  const Submit submit_;
  const std::shared_ptr<producer::ProducerSet> producers_;
  // Of tasks that kept no worker: the next one is charged.
  std::atomic<std::int64_t> owed_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_
