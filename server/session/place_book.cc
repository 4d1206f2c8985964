#include "server/session/place_book.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "server/dataset/canonical_spec.h"

namespace forebay::session {
namespace {

// The most folders whose places are stored: as many as ObjectReads keeps open.
constexpr std::size_t kMostRoots = 16;

// Returns the place of a spec's dataset. Returns nullopt if the spec came in a
// memfd, which is read only when the request is answered, or if the spec will
// be refused.
template <typename Open>
std::optional<AwaitedPlace> PlaceOfSpec(const Open& request,
                                        absl::Span<const base::Fd> fds) {
  if (request.spec_in_memfd()) return std::nullopt;
  const proto::DatasetSpec& sent = request.spec().dataset();
  // A spec with a kind is canonical, or will be refused.
  if (sent.kind_case() != proto::DatasetSpec::KIND_NOT_SET)
    return PlaceOf(sent, fds);
  const auto spec = dataset::CanonicalSpec(sent);
  return spec.ok() ? PlaceOf(*spec, fds) : std::nullopt;
}

}  // namespace

std::optional<AwaitedPlace> PlaceBook::Find(const proto::ClientMessage& request,
                                            absl::Span<const base::Fd> fds) {
  if (request.has_open_loader()) return PlaceOfSpec(request.open_loader(), fds);
  if (request.has_open_reader()) return PlaceOfSpec(request.open_reader(), fds);
  if (request.has_read_object())
    return PlaceOfRoot(request.read_object().root(),
                       fds.empty() ? -1 : fds[0].get());
  if (!request.has_fetch()) return std::nullopt;
  const std::uint64_t reader = request.fetch().reader_id();
  base::MutexLock lock(&mutex_);
  if (reader < 1 || reader > readers_.size()) return std::nullopt;
  return readers_[reader - 1];
}

void PlaceBook::AddReader(std::optional<AwaitedPlace> place) {
  base::MutexLock lock(&mutex_);
  readers_.push_back(std::move(place));
}

// A place is found by its URI alone. If a client names two folders by one URI,
// the place may be wrong. Then only requests of this client may wait in the
// wrong queue.
AwaitedPlace PlaceBook::PlaceOfRoot(const std::string& uri, int directory) {
  base::MutexLock lock(&mutex_);
  const auto known =
      std::find_if(roots_.begin(), roots_.end(),
                   [&](const auto& root) { return root.first == uri; });
  if (known != roots_.end()) return known->second;
  AwaitedPlace place = PlaceOf(uri, directory);
  if (roots_.size() == kMostRoots) roots_.pop_back();
  roots_.emplace_front(uri, place);
  return place;
}

}  // namespace forebay::session
