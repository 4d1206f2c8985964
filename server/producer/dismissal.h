#ifndef FOREBAY_SERVER_PRODUCER_DISMISSAL_H_
#define FOREBAY_SERVER_PRODUCER_DISMISSAL_H_

#include <memory>

#include "server/producer/answer_waiter.h"
#include "server/producer/producer.h"

namespace forebay::producer {

// Lets a producer end that nobody uses any more, and kills its process if that
// has not ended within ten seconds. The waiter keeps the producer until the
// process is gone, because memory counts as mapped by it until then. Does not
// block.
void Dismiss(std::shared_ptr<Producer> producer, AnswerWaiter* waiter);

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_DISMISSAL_H_
