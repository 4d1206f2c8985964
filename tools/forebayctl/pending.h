#ifndef FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_
#define FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_

#include <string>

#include "google/protobuf/repeated_field.h"
#include "proto/admin.pb.h"

namespace forebay::ctl {

// These functions describe in words the requests that jobs wait for. All of
// them are thread-safe, never block and have no errors.

using PendingRequests =
    google::protobuf::RepeatedPtrField<proto::PendingRequest>;

// Returns whether people should see the request: one that opens a dataset, or
// takes more than two seconds.
bool IsWorthShowing(const proto::PendingRequest& request);

// Returns the state of a job, such as "opening", by the oldest request that is
// worth showing; "" if there is no such request.
std::string PendingState(const PendingRequests& requests);

// Returns a clause such as "opening, waits for http://10.0.0.7:8080 for 12 s"
// or "opening /mnt/train for 12 s".
std::string DescribePending(const proto::PendingRequest& request);
// Returns an empty line, then a line "JOB: opening ..." for each request that
// is worth showing. Returns "" if there is no such request. The text can be
// printed on a terminal.
std::string PendingLines(const PendingRequests& requests);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_PENDING_H_
