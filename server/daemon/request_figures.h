#ifndef FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_
#define FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_

#include "server/admin/daemon_info.h"
#include "server/storage/http/request_ledger.h"

namespace forebay::daemon {

// Converts the counts of a job's requests to the struct that `admin` reports.
// Thread-safe; never blocks; has no errors.
admin::RemoteRequestsInfo ToInfo(const storage::http::JobRequests& of);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_REQUEST_FIGURES_H_
