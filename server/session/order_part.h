#ifndef FOREBAY_SERVER_SESSION_ORDER_PART_H_
#define FOREBAY_SERVER_SESSION_ORDER_PART_H_

#include "absl/status/status.h"
#include "proto/session.pb.h"

namespace forebay::session {

// Computes the part of an epoch's order that a request asks for. Thread-safe;
// never blocks. INVALID_ARGUMENT: the request's numbers do not describe an
// order, or are out of bounds.
absl::Status DrawPart(const proto::DrawOrder& request,
                      proto::OrderDrawn& drawn);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_ORDER_PART_H_
