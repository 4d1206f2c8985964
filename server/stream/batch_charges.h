#ifndef FOREBAY_SERVER_STREAM_BATCH_CHARGES_H_
#define FOREBAY_SERVER_STREAM_BATCH_CHARGES_H_

#include <memory>

#include "server/sample/large_samples.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member_set.h"
#include "server/stream/prefetcher.h"
#include "server/stream/sample_tasks.h"
#include "server/stream/stream_plan.h"

namespace forebay::stream {

// The payers of reads that follow each other. Consecutive reads of the same
// payers share one list.
//
// Not thread-safe: a local variable of one thread. Owns the list, with the
// requests. Never blocks. No errors.
class ReadPayers {
 public:
  // Charges the read to the flows `charged`: at least one.
  void Charge(const SampleTasks::Flows& charged,
              storage::ReadRequest* request) {
    if (payers_ == nullptr || *payers_ != charged)
      payers_ = std::make_shared<const SampleTasks::Flows>(charged);
    if (payers_->size() > 1 || payers_->front() != request->purpose.job)
      request->purpose.payers = payers_;
  }

 private:
  std::shared_ptr<const SampleTasks::Flows> payers_;
};

// Charges the batches in flight to the flows that pay for them. A batch is
// charged to all members that run. If only members with caps want it, it is
// charged to them alone. A cap thus holds a batch up only until a member
// without a cap comes to it.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. LargeSamples alone is shared, and locks a mutex of its own. Owns nothing
// but the list of flows. Never blocks. No errors.
class BatchCharges {
 public:
  using Flows = SampleTasks::Flows;

  BatchCharges(const MemberSet* members, const InFlightBatches* in_flight,
               const Prefetcher* prefetcher, SampleTasks* tasks,
               sample::LargeSamples* large)
      : members_(members),
        in_flight_(in_flight),
        prefetcher_(prefetcher),
        tasks_(tasks),
        large_(large) {}

  // Tells that the epoch of a member began or ended. If no member runs any
  // more, the members that ran last go on to pay.
  void MembersChanged();
  // Charges each batch whose payers have changed to its new payers. Adds to
  // `plan` the tasks and the reads that the new payers want.
  void Update(StreamPlan* plan);

 private:
  void Charge(Batch* batch, const Flows& charged, StreamPlan* plan);

  const MemberSet* const members_;
  const InFlightBatches* const in_flight_;
  const Prefetcher* const prefetcher_;
  SampleTasks* const tasks_;
  sample::LargeSamples* const large_;
  // The flows of the members that run, or ran last.
  Flows flows_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_CHARGES_H_
