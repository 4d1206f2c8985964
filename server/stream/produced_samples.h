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
#include "absl/types/span.h"
#include "proto/producer_socket.h"
#include "server/base/fd.h"
#include "server/executor/executor.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/producer_set.h"
#include "server/stream/batch_layout.h"
#include "server/stream/read_sample.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Has the samples of a stream made by producers, straight into their rows of
// the slot, or of the staging memory. Or has the user's code in its pipeline
// run by them: on what lies on the samples' desks. While a producer computes,
// the task that asked it keeps its worker of the executor, whose core the
// producer takes; when it sleeps or waits for reads, it keeps none.
//
// Thread-safe. All that it is made with outlives it. Make blocks while the
// producer computes. Errors: those of ProducerSet, as ABORTED; UNKNOWN: the
// user's code failed, and the message is its own; both of each sample.
class ProducedSamples {
 public:
  // Receives the samples, each with its status, or `lost` if they are to be
  // made again, and the CPU time that they took. `worker` is Make's while the
  // task keeps it; else nullopt.
  using Done =
      std::function<void(std::vector<ReadSample> samples, std::int64_t nanos,
                         std::optional<int> worker)>;

  ProducedSamples(const StreamSpec* spec, const BatchLayout* layout,
                  const StreamDeps* deps);

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
  using ProducerPtr = std::shared_ptr<producer::Producer>;
  using AnswerOr = absl::StatusOr<producer::Answer>;

  // Asks a producer for those samples that are still wanted.
  absl::StatusOr<ProducerPtr> Ask(std::vector<ReadSample>& samples);
  // Waits while the producer computes. DEADLINE_EXCEEDED: it does so no longer.
  static AnswerOr AwaitBusy(producer::Producer& producer);
  // Takes what the producer answered, and gives it back.
  void Take(ProducerPtr producer, const AnswerOr& answer,
            std::vector<ReadSample>& samples);
  // Appends the sample to what stands behind a task.
  void Describe(const PendingSample& pending,
                std::vector<std::uint8_t>* behind) const;
  // The number by which tasks name memory of the sample's batch.
  std::uint32_t NumberOf(const std::uint8_t* memory) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  const StreamDeps* const deps_;
  const std::shared_ptr<producer::ProducerSet> producers_;
  // Of tasks that kept no worker: the next one is charged.
  std::atomic<std::int64_t> owed_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_
