#ifndef FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_
#define FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/working_memory.h"

namespace forebay::session {

// Returns the spec of a loader or reader that came in the memfd `fd`. Counts in
// `memory` its bytes, and the copies that exist until the loader or reader is
// open, before they are made. Thread-safe; never blocks. INVALID_ARGUMENT: `fd`
// is no memfd, is too large, or holds no spec or one of too many parts;
// RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<proto::LoaderSpec> SpecFromMemfd(int fd,
                                                base::WorkingMemory& memory);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SPEC_MEMFD_H_
