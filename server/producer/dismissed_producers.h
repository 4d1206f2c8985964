#ifndef FOREBAY_SERVER_PRODUCER_DISMISSED_PRODUCERS_H_
#define FOREBAY_SERVER_PRODUCER_DISMISSED_PRODUCERS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/producer/answer_waiter.h"
#include "server/producer/producer.h"

namespace forebay::producer {

// Producers that are to end, and are kept until their processes are gone: until
// then, memory counts as mapped by them.
//
// Not thread-safe: the owner guards it. The waiter outlives it. The waiter owns
// the producers, also after this has gone. Never blocks; no errors.
class DismissedProducers {
 public:
  explicit DismissedProducers(AnswerWaiter* waiter) : waiter_(waiter) {}

  // Lets a producer end, which nobody else uses any more.
  void Add(std::shared_ptr<Producer> producer, std::int64_t now_nanos);
  // Kills those that have not ended within ten seconds.
  void KillLate(std::int64_t now_nanos);

 private:
  AnswerWaiter* const waiter_;
  // With the time of their dismissal.
  std::vector<std::pair<std::weak_ptr<Producer>, std::int64_t>> producers_;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_DISMISSED_PRODUCERS_H_
