#include "server/producer/dismissed_producers.h"

#include "server/producer/process.h"

namespace forebay::producer {
namespace {

constexpr std::int64_t kPatienceNanos = 10'000'000'000;

}  // namespace

void DismissedProducers::Add(std::shared_ptr<Producer> producer,
                             std::int64_t now_nanos) {
  producer->socket.Dismiss();
  producers_.emplace_back(producer, now_nanos);
  const Process* const process = producer->process();
  const int fd = process == nullptr ? producer->socket.fd() : process->fd();
  waiter_->Watch(fd, [producer = std::move(producer)] {
    return producer->process() != nullptr ||
           absl::IsUnavailable(producer->socket.Await(0).status());
  });
}

void DismissedProducers::KillLate(std::int64_t now_nanos) {
  std::erase_if(producers_, [&](const auto& entry) {
    const std::shared_ptr<Producer> producer = entry.first.lock();
    if (producer == nullptr) return true;
    if (now_nanos - entry.second < kPatienceNanos) return false;
    if (producer->process() != nullptr) producer->process()->Kill();
    return true;
  });
}

}  // namespace forebay::producer
