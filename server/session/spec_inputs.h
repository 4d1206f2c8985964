#ifndef FOREBAY_SERVER_SESSION_SPEC_INPUTS_H_
#define FOREBAY_SERVER_SESSION_SPEC_INPUTS_H_

#include <stop_token>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

// Returns whether a part of the dataset comes in the client's memory. The
// descriptor of that memory is then the last of the dataset's descriptors.
bool HasMemory(const proto::DatasetSpec& spec);

// Assigns the descriptors that came with a dataset's spec to its parts, and
// opens the remote roots, which need no descriptors. Takes the descriptors.
// Thread-safe. Blocks as `remote` does, until `stop` is requested.
//
// INVALID_ARGUMENT: the descriptors are not those that the spec needs, or the
// spec has too many parts. Other errors are those of the opener and LocalRoot.
absl::StatusOr<dataset::composed::DatasetInputs> TakeDatasetInputs(
    const proto::DatasetSpec& spec, absl::Span<base::Fd> fds,
    storage::RootOpener* remote, const std::stop_token& stop);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SPEC_INPUTS_H_
