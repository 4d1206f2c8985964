#ifndef FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_
#define FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/base/working_memory.h"

namespace forebay::session {

// Returns the spec of a loader or reader that came in the memfd `fd`. Its
// bytes, and the copies that exist until the loader or reader is open, are
// counted in `memory` before they are made. Thread-safe; never blocks.
//
// INVALID_ARGUMENT: `fd` is not a memfd, is too large, or contains no spec, or
// its spec has too many parts. RESOURCE_EXHAUSTED: `memory` has no room.
absl::StatusOr<proto::LoaderSpec> SpecFromMemfd(int fd,
                                                base::WorkingMemory& memory);

// Returns the spec with a canonical dataset (dataset/canonical_spec.h, which
// lists the errors). Thread-safe; never blocks.
absl::StatusOr<proto::LoaderSpec> WithCanonicalDataset(proto::LoaderSpec spec);

// Returns the spec of an OpenLoader or OpenReader request. Its dataset is
// canonical, whichever of the served versions the client has. `fds` are the
// descriptors that came with the request. If the spec came in a memfd, takes
// the last descriptor, which is that memfd. Memory and threads are as
// SpecFromMemfd says. Errors are those of both functions.
template <typename Open>
absl::StatusOr<proto::LoaderSpec> SpecOf(const Open& request,
                                         std::vector<base::Fd>& fds,
                                         base::WorkingMemory& memory) {
  if (!request.spec_in_memfd()) return WithCanonicalDataset(request.spec());
  if (fds.empty())
    return absl::InvalidArgumentError("the spec's memfd did not come");
  const base::Fd memfd = std::move(fds.back());
  fds.pop_back();
  auto spec = SpecFromMemfd(memfd.get(), memory);
  return spec.ok() ? WithCanonicalDataset(*std::move(spec)) : spec;
}

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_
