#ifndef FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_
#define FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_

#include "server/admin/daemon_info.h"
#include "server/storage/http/ledger.h"

namespace forebay::daemon {

// Returns the requests of a job as they are reported. Thread-safe; never blocks
// or fails.
admin::RemoteRequestsInfo ToInfo(const storage::http::JobRequests& of);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_
