#ifndef FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_
#define FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_

#include "proto/session.pb.h"
#include "server/job/loader.h"

namespace forebay::session {

// Fills what LoaderOpened says of the place of a loader's batches. Thread-safe;
// never blocks; no errors.
void DescribePlacement(const job::Loader& loader,
                       proto::LoaderPlacement& placement);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_
