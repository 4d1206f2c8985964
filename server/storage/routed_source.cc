#include "server/storage/routed_source.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

void Refuse(absl::Span<ReadRequest> requests) {
  for (ReadRequest& request : requests) {
    const auto done = std::move(request.done);
    done(absl::InvalidArgumentError(absl::StrCat(
        request.object, ": ", request.root->uri(), " cannot be read")));
  }
}

}  // namespace

void RoutedSource::Add(Leads leads, ByteSource* source) {
  // Held, so that no weight or cap overtakes another on its way to the source.
  base::MutexLock lock(&mutex_);
  for (const auto& [job, weight] : weights_) source->SetWeight(job, weight);
  for (const auto& [job, cap] : caps_) source->SetCap(job, cap);
  routes_.insert(routes_.begin(), {leads, source});
}

std::vector<RoutedSource::Route> RoutedSource::Routes() const {
  base::MutexLock lock(&mutex_);
  return routes_;
}

void RoutedSource::Read(absl::Span<ReadRequest> requests) {
  const std::vector<Route> routes = Routes();
  const auto source_for = [&routes](const ReadRequest& request) -> ByteSource* {
    for (const Route& route : routes)
      if (route.leads(*request.root)) return route.source;
    return nullptr;
  };
  // Requests come many at a time, mostly below one root: so they go on.
  while (!requests.empty()) {
    ByteSource* const source = source_for(requests.front());
    std::size_t count = 1;
    while (count < requests.size() &&
           (requests[count].root == requests.front().root ||
            source_for(requests[count]) == source))
      ++count;
    if (source != nullptr)
      source->Read(requests.first(count));
    else
      Refuse(requests.first(count));
    requests.remove_prefix(count);
  }
}

void RoutedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  for (const Route& route : Routes()) route.source->Share(ticket, purpose);
}

void RoutedSource::SetWeight(std::uint64_t job, double weight) {
  base::MutexLock lock(&mutex_);
  weights_[job] = weight;
  for (const Route& route : routes_) route.source->SetWeight(job, weight);
}

void RoutedSource::SetCap(std::uint64_t job, double bytes_per_second) {
  base::MutexLock lock(&mutex_);
  caps_[job] = bytes_per_second;
  for (const Route& route : routes_)
    route.source->SetCap(job, bytes_per_second);
}

void RoutedSource::Forget(std::uint64_t job) {
  base::MutexLock lock(&mutex_);
  weights_.erase(job);
  caps_.erase(job);
  for (const Route& route : routes_) route.source->Forget(job);
}

}  // namespace forebay::storage
