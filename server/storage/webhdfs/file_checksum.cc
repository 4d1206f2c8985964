#include "server/storage/webhdfs/file_checksum.h"

#include "server/base/status.h"
#include "server/storage/webhdfs/file_status.h"

namespace forebay::storage::webhdfs {

absl::StatusOr<http::Call> ChecksumCall(const HdfsRoot& root,
                                        std::string_view object) {
  http::Call call;
  FOREBAY_ASSIGN_OR_RETURN(call.request.url, root.ChecksumUrl(object));
  // A name node redirects to hosts of its own choice.
  call.request.refuse_link_local = true;
  call.fault = &FaultOf;
  call.follow = &DataNodeOf;
  call.judge = [](const http::HttpResponse& answer) {
    return ParseChecksum(answer.body).status();
  };
  return call;
}

}  // namespace forebay::storage::webhdfs
