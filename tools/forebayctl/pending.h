#ifndef FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_
#define FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_

#include <string>

#include "google/protobuf/repeated_field.h"
#include "proto/admin.pb.h"

namespace forebay::ctl {

// The requests that jobs wait for, in words. Thread-safe; nothing blocks or
// fails.

using PendingRequests =
    google::protobuf::RepeatedPtrField<proto::PendingRequest>;

// Whether people should see the request: it opens something, or takes long.
bool IsWorthShowing(const proto::PendingRequest& request);

// "opening", of the request that is worth showing and the oldest; empty: none.
std::string PendingState(const PendingRequests& requests);

// "opening, waits for http://10.0.0.7:8080 for 12 s", or "opening /mnt/train
// for 12 s".
std::string DescribePending(const proto::PendingRequest& request);

// A line for each request that is worth showing, "JOB: opening ...", after an
// empty one. Empty if there is none. Can be printed on a terminal.
std::string PendingLines(const PendingRequests& requests);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_
