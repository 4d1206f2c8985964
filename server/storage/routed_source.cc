#include "server/storage/routed_source.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

// Fails requests below roots to which no route leads.
void Refuse(absl::Span<ReadRequest> requests) {
  for (ReadRequest& request : requests) {
    const auto done = std::move(request.done);
    done(absl::InvalidArgumentError(absl::StrCat(
        request.object, ": ", request.root->uri(), " cannot be read")));
  }
}

}  // namespace

void RoutedSource::Add(Leads leads, ByteSource* source) {
  base::MutexLock lock(&mutex_);
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
  // Requests come many at a time, mostly below one root. A run of requests for
  // the same source is forwarded in one call.
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

// Calls Share of all sources: each ignores tickets that it does not know.
void RoutedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  for (const Route& route : Routes()) route.source->Share(ticket, purpose);
}

}  // namespace forebay::storage
