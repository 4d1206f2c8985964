#include "server/worker/dismissal.h"

#include <utility>

#include "server/worker/worker_process.h"

namespace forebay::worker {
void Dismiss(std::shared_ptr<Worker> worker, AnswerWaiter* waiter) {
  worker->socket.Dismiss();
  const Process* const process = worker->process();
  if (process != nullptr) {
    waiter->PostAfter(kEndPatienceNanos,
                      [weak = std::weak_ptr<Worker>(worker)] {
                        if (const auto late = weak.lock())
                          late->process()->Kill();
                      });
  }
  const int fd = process == nullptr ? worker->socket.fd() : process->fd();
  // A pidfd becomes readable once the process is gone. Without a pidfd, the
  // worker's socket tells that the process is gone.
  waiter->Watch(fd, [worker = std::move(worker)] {
    return worker->process() != nullptr ||
           absl::IsUnavailable(worker->socket.Await(0).status());
  });
}

}  // namespace forebay::worker
