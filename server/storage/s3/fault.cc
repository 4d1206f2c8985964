#include "server/storage/s3/fault.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/storage/http/answer_error.h"
#include "server/storage/s3/xml.h"

namespace forebay::storage::s3 {
namespace {

// Returns at most `length` printable characters of what a server says.
std::string Cut(std::string_view text, std::size_t length) {
  std::string cut(text.substr(0, length));
  std::replace_if(
      cut.begin(), cut.end(),
      [](unsigned char c) { return !absl::ascii_isprint(c); }, ' ');
  return cut;
}

// Whether the bucket lies in another region than the one that was asked. An
// answer to HEAD has no error code.
bool IsElsewhere(const http::HttpResponse& answer, const Fault& fault) {
  if (fault.region.empty()) return false;
  return answer.status == 301 || answer.status == 307 ||
         (answer.status == 400 &&
          (fault.code.empty() || fault.code == "AuthorizationHeaderMalformed"));
}

}  // namespace

Fault FaultIn(const http::HttpResponse& answer) {
  Fault fault;
  const std::string* const region = answer.Header("x-amz-bucket-region");
  if (region != nullptr) fault.region = Cut(*region, 63);
  pugi::xml_document document;
  if (!ParseXml(answer.body, &document)) return fault;
  const pugi::xml_node error = document.child("Error");
  fault.code = Cut(error.child_value("Code"), 63);
  fault.message = Cut(error.child_value("Message"), 200);
  if (fault.region.empty()) fault.region = Cut(error.child_value("Region"), 63);
  return fault;
}

absl::Status FaultOf(const http::HttpResponse& answer) {
  const Fault fault = FaultIn(answer);
  if (IsElsewhere(answer, fault))
    return absl::InvalidArgumentError(absl::StrCat(
        "the bucket lies in the region ", fault.region, ": set s3.region = \"",
        fault.region,
        "\" in the daemon's configuration, or AWS_REGION in its environment"));
  if (fault.code == "ExpiredToken")
    return absl::PermissionDeniedError(
        "the daemon's credentials have expired: renew them in its credentials "
        "file, which is then read anew; it keeps those of its environment "
        "until it is started again");
  if (fault.code == "RequestTimeTooSkewed")
    return absl::PermissionDeniedError(
        "this host's clock differs from the server's: set it");
  if (fault.code == "NoSuchBucket")
    return absl::NotFoundError("there is no such bucket");
  // The error quotes the server's message in place of the whole document.
  http::HttpResponse told;
  told.status = answer.status;
  told.headers = answer.headers;
  told.body = fault.code.empty()
                  ? answer.body
                  : absl::StrCat(fault.code, ": ", fault.message);
  // These codes mean that the server is busy, whatever status they come with.
  if (fault.code == "SlowDown" || fault.code == "RequestTimeout")
    told.status = 503;
  return http::ErrorOf(told);
}

}  // namespace forebay::storage::s3
