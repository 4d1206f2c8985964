#include "server/storage/webhdfs/webhdfs_protocol.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/webhdfs/file_status.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {

absl::StatusOr<http::HttpRequest> WebHdfsProtocol::Ask(
    const ReadRequest& read, const http::HttpRange& range) const {
  const auto* const root = dynamic_cast<const HdfsRoot*>(read.root.get());
  if (root == nullptr) return absl::InvalidArgumentError("lies in no HDFS");
  http::HttpRequest request;
  FOREBAY_ASSIGN_OR_RETURN(
      request.url, root->OpenUrl(read.object, range.offset, range.length));
  // A name node redirects to hosts of its own choice.
  request.refuse_link_local = true;
  return request;
}

absl::Status WebHdfsProtocol::Judge(const ReadRequest&,
                                    const http::HttpRange& range,
                                    const http::HttpResponse& answer) const {
  if (answer.status != 200)
    return absl::UnavailableError(
        absl::StrCat("the server answers ", answer.status, " to OPEN"));
  if (answer.failure == http::HttpFailure::kTooLong)
    return absl::DataLossError(absl::StrCat("the server sends more than the ",
                                            range.length,
                                            " bytes of its answer"));
  if (answer.filled == range.length) return absl::OkStatus();
  // If an answer has neither header, its end looks the same as a lost
  // connection.
  if (answer.Header("content-length") == nullptr &&
      answer.Header("transfer-encoding") == nullptr)
    return absl::DataLossError(absl::StrCat("the server sends less than the ",
                                            range.length,
                                            " bytes of its answer"));
  // The whole answer came, so the file is shorter now.
  return absl::FailedPreconditionError(
      "was replaced or changed since the dataset was indexed");
}

absl::StatusOr<std::string> WebHdfsProtocol::Follow(
    const http::HttpResponse& answer) const {
  return DataNodeOf(answer);
}

absl::Status WebHdfsProtocol::Fault(const http::HttpResponse& answer) const {
  return FaultOf(answer);
}

absl::Status WebHdfsProtocol::Explain(const absl::Status& error) const {
  if (!absl::IsNotFound(error)) return error;
  return absl::NotFoundError("was deleted since the dataset was indexed");
}

}  // namespace forebay::storage::webhdfs
