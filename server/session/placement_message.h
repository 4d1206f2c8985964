#ifndef FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_
#define FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_

#include "proto/session.pb.h"
#include "server/job/loader.h"

namespace forebay::session {

// Fills the part of LoaderOpened that says where a loader's batches are: on
// which GPU, and what the client does with them there. Thread-safe; never
// blocks; has no errors.
void DescribePlacement(const job::Loader& loader,
                       proto::LoaderPlacement& placement);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PLACEMENT_MESSAGE_H_
