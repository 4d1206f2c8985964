#ifndef FOREBAY_SERVER_WORKER_DISMISSAL_H_
#define FOREBAY_SERVER_WORKER_DISMISSAL_H_

#include <memory>

#include "server/worker/answer_waiter.h"
#include "server/worker/worker.h"

namespace forebay::worker {

// Tells an unused worker to end. Kills its process if the process has not ended
// within kEndPatienceNanos. The waiter keeps the Worker until the process is
// gone, because until then memory counts as mapped by the process. Does not
// block.
void Dismiss(std::shared_ptr<Worker> worker, AnswerWaiter* waiter);

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_DISMISSAL_H_
