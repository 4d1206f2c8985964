#include "server/producer/dismissal.h"

#include <utility>

#include "server/producer/process.h"

namespace forebay::producer {
void Dismiss(std::shared_ptr<Producer> producer, AnswerWaiter* waiter) {
  producer->socket.Dismiss();
  const Process* const process = producer->process();
  if (process != nullptr) {
    waiter->PostAfter(kEndPatienceNanos,
                      [weak = std::weak_ptr<Producer>(producer)] {
                        if (const auto late = weak.lock())
                          late->process()->Kill();
                      });
  }
  const int fd = process == nullptr ? producer->socket.fd() : process->fd();
  waiter->Watch(fd, [producer = std::move(producer)] {
    return producer->process() != nullptr ||
           absl::IsUnavailable(producer->socket.Await(0).status());
  });
}

}  // namespace forebay::producer
