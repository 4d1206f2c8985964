#include "tools/forebayctl/pending.h"

#include <string>

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

proto::PendingRequest Request(proto::PendingRequest::Kind kind,
                              const std::string& uri, const std::string& host,
                              double seconds) {
  proto::PendingRequest request;
  request.set_kind(kind);
  request.set_job("resnet");
  request.set_uri(uri);
  request.set_host(host);
  request.set_seconds(seconds);
  return request;
}

TEST_CASE("A pending request says what is waited for",
          "[forebayctl][pending]") {
  using proto::PendingRequest;
  CHECK(DescribePending(Request(PendingRequest::OPENING, "http://a:1/b",
                                "http://a:1", 12.3)) ==
        "opening, waits for http://a:1 for 12 s");
  CHECK(DescribePending(Request(PendingRequest::OPENING, "/mnt/train", "",
                                0.2)) == "opening /mnt/train for 0 s");
  CHECK(DescribePending(Request(PendingRequest::OPENING, "", "", 3)) ==
        "opening for 3 s");
  CHECK(DescribePending(Request(PendingRequest::FETCHING, "/data", "", 303)) ==
        "fetching samples of /data for 5 min 03 s");
  CHECK(DescribePending(Request(PendingRequest::READING, "s3://a/b", "s3://a",
                                5)) == "reading, waits for s3://a for 5 s");
  CHECK(DescribePending(Request(PendingRequest::STARTING, "/data", "", 5)) ==
        "starting an epoch of /data for 5 s");
}

TEST_CASE("Pending openings are shown at once and the rest when it takes long",
          "[forebayctl][pending]") {
  PendingRequests requests;
  CHECK_THAT(PendingState(requests), Catch::Equals(""));
  CHECK_THAT(PendingLines(requests), Catch::Equals(""));
  *requests.Add() = Request(proto::PendingRequest::FETCHING, "/data", "", 1.9);
  CHECK_THAT(PendingState(requests), Catch::Equals(""));
  CHECK_THAT(PendingLines(requests), Catch::Equals(""));
  *requests.Add() = Request(proto::PendingRequest::OPENING, "/data", "", 0.1);
  CHECK(PendingState(requests) == "opening");
  *requests.Add() = Request(proto::PendingRequest::READING, "/a\x1b", "", 2);
  UNSCOPED_INFO("it is the oldest");
  CHECK(PendingState(requests) == "reading");
  CHECK(PendingLines(requests) ==
        "\n"
        "resnet: opening /data for 0 s\n"
        "resnet: reading /a? for 2 s\n");
}

}  // namespace
}  // namespace forebay::ctl
