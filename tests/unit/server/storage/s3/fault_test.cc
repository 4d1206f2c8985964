#include "server/storage/s3/fault.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

using tests::Contains;
using tests::HasCode;

http::HttpResponse AnswerOf(int status, std::string body) {
  http::HttpResponse answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

TEST_CASE("An S3 fault has the server's words", "[s3][fault]") {
  const struct {
    int status;
    std::string body;
    absl::StatusCode code;
    std::string words;
  } cases[] = {
      {403, ErrorXml("AccessDenied", "Access\nDenied"),
       absl::StatusCode::kPermissionDenied,
       "reading it is denied: the server answers 403 (AccessDenied: Access "
       "Denied)"},
      {403, ErrorXml("SignatureDoesNotMatch", "Check your key"),
       absl::StatusCode::kPermissionDenied, "SignatureDoesNotMatch"},
      {403, ErrorXml("RequestTimeTooSkewed", "x"),
       absl::StatusCode::kPermissionDenied, "this host's clock differs"},
      {400, ErrorXml("ExpiredToken", "x"), absl::StatusCode::kPermissionDenied,
       "the daemon's credentials have expired"},
      {400, ErrorXml("InvalidArgument", "x"),
       absl::StatusCode::kInvalidArgument, "InvalidArgument: x"},
      {404, ErrorXml("NoSuchBucket", "x"), absl::StatusCode::kNotFound,
       "there is no such bucket"},
      {404, ErrorXml("NoSuchKey", "x"), absl::StatusCode::kNotFound,
       "there is no such object"},
      {412, ErrorXml("PreconditionFailed", "x"),
       absl::StatusCode::kFailedPrecondition, "was replaced or changed"},
      {503, ErrorXml("SlowDown", "x"), absl::StatusCode::kUnavailable,
       "SlowDown: x"},
      {400, ErrorXml("RequestTimeout", "x"), absl::StatusCode::kUnavailable,
       "RequestTimeout"},
      {500, ErrorXml("InternalError", "x"), absl::StatusCode::kUnavailable,
       "InternalError"},
      {502, "<html>no gateway", absl::StatusCode::kUnavailable,
       "<html>no gateway"},
      {403, "", absl::StatusCode::kPermissionDenied, "answers 403"},
  };
  for (const auto& one : cases) {
    const absl::Status status = FaultOf(AnswerOf(one.status, one.body));
    CAPTURE(one.body);
    CHECK(status.code() == one.code);
    CHECK_THAT(status.message(), Contains(one.words));
  }
}

TEST_CASE("An S3 fault names the region of a bucket that lies elsewhere",
          "[s3][fault]") {
  const std::string remedy =
      "the bucket lies in the region eu-west-1: set s3.region = \"eu-west-1\"";
  http::HttpResponse answer =
      AnswerOf(301, ErrorXml("PermanentRedirect", "Use another endpoint"));
  answer.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  for (const int status : {301, 307}) {
    answer.status = status;
    CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(FaultOf(answer).message(), Contains(remedy));
  }
  // HEAD answers have no body. A request signed for another region gets another
  // code.
  answer.body = "";
  CHECK_THAT(FaultOf(answer).message(), Contains(remedy));
  answer = AnswerOf(400, ErrorXml("AuthorizationHeaderMalformed", "x",
                                  "<Region>eu-west-1</Region>"));
  CHECK_THAT(FaultOf(answer).message(), Contains(remedy));
  // Other answers also tell the region, but keep their own errors.
  answer = AnswerOf(404, ErrorXml("NoSuchKey"));
  answer.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kNotFound));
  answer = AnswerOf(400, ErrorXml("ExpiredToken"));
  answer.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace forebay::storage::s3
