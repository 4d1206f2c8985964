// Compares signatures with AWS's own. They come from its test suite, and from
// the examples of the S3 User Guide ("Signature Calculations for the
// Authorization Header").

#include "server/storage/s3/signature.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch/catch.h"

namespace forebay::storage::s3 {
namespace {

TEST_CASE("An S3 signature is that of AWS's test suite", "[s3][signature]") {
  std::ifstream file("tests/golden/s3/signatures.json");
  const auto cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() == 38);
  for (const nlohmann::json& one : cases) {
    INFO(one.at("name").get<std::string>());
    RequestToSign request;
    request.method = one.at("method");
    request.path = one.at("path");
    request.query = one.at("query");
    request.body_sha256 = one.at("body_sha256");
    std::string time;
    for (const nlohmann::json& header : one.at("headers")) {
      request.headers.emplace_back(header.at(0), header.at(1));
      if (header.at(0) == "x-amz-date") time = header.at(1);
    }
    CHECK(CanonicalRequest(request) == one.at("canonical").get<std::string>());
    Signer signer({one.at("key_id"), one.at("secret"), ""}, "us-east-1",
                  "service");
    CHECK(signer.Authorization(request, time) ==
          one.at("authorization").get<std::string>());
  }
}

TEST_CASE("An S3 signature is that of the user guide's examples",
          "[s3][signature]") {
  constexpr char kTime[] = "20130524T000000Z";
  Signer signer(
      {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
      "us-east-1");
  const auto signature = [&](const RequestToSign& request) {
    const std::string header = signer.Authorization(request, kTime);
    return header.substr(header.rfind('=') + 1);
  };
  RequestToSign request;
  request.method = "GET";
  request.path = "/";
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", kEmptySha256},
                     {"x-amz-date", kTime}};
  request.body_sha256 = kEmptySha256;
  request.query = "lifecycle";
  CHECK(signature(request) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  request.query = "max-keys=2&prefix=J";
  CHECK(signature(request) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  request.query = "";
  request.path = "/test.txt";
  request.headers.emplace_back("range", "bytes=0-9");
  CHECK(signature(request) ==
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("An S3 signer signs with the key of the day", "[s3][signature]") {
  const RequestToSign request = {"GET", "/", "", {{"host", "h"}}, ""};
  Signer kept({"id", "secret", ""}, "eu-west-1");
  for (const char* time :
       {"20130524T000000Z", "20130525T000000Z", "20130524T000000Z"}) {
    Signer fresh({"id", "secret", ""}, "eu-west-1");
    CHECK(kept.Authorization(request, time) ==
          fresh.Authorization(request, time));
  }
}

TEST_CASE("An S3 signer writes times as AWS does", "[s3][signature]") {
  CHECK(SigningTime(0) == "19700101T000000Z");
  CHECK(SigningTime(1440938160) == "20150830T123600Z");
}

}  // namespace
}  // namespace forebay::storage::s3
