#include "server/daemon/request_figures.h"

namespace forebay::daemon {

admin::RemoteRequestsInfo ToInfo(const storage::http::JobRequests& of) {
  storage::http::RequestCounts all = of.gets;
  all += of.lists;
  all += of.others;
  return {.job = of.job,
          .reads = of.gets.requests,
          .lists = of.lists.requests,
          .others = of.others.requests,
          .retries = all.retries,
          .hedges = all.hedges,
          .failures = all.failures,
          .bytes = all.bytes};
}

}  // namespace forebay::daemon
