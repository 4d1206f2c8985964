#ifndef FOREBAY_SERVER_SESSION_DATASET_INPUTS_H_
#define FOREBAY_SERVER_SESSION_DATASET_INPUTS_H_

#include <stop_token>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

// Whether some of the dataset comes in memory of the client's, whose descriptor
// is then the last one of the dataset's.
bool HasMemory(const proto::DatasetSpec& spec);

// Says which of the descriptors that came with a dataset's spec is what, and
// opens the places that need none. Takes the descriptors. May block as `remote`
// does, until `stop`. INVALID_ARGUMENT: they are not those that the spec needs,
// or it has too many parts; else the opener's errors and LocalRoot's.
absl::StatusOr<dataset::composed::DatasetInputs> TakeDatasetInputs(
    const proto::DatasetSpec& spec, absl::Span<base::Fd> fds,
    storage::RootOpener* remote, const std::stop_token& stop);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_DATASET_INPUTS_H_
