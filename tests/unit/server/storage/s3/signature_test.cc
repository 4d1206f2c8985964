// Signatures against AWS's own: its test suite, and the examples of the S3 User
// Guide ("Signature Calculations for the Authorization Header").

#include "server/storage/s3/signature.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace forebay::storage::s3 {
namespace {

TEST(SignatureTest, IsThatOfAwssTestSuite) {
  std::ifstream file("tests/golden/s3/signatures.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 38);
  for (const nlohmann::json& one : cases) {
    SCOPED_TRACE(one.at("name").get<std::string>());
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
    EXPECT_EQ(CanonicalRequest(request),
              one.at("canonical").get<std::string>());
    Signer signer({one.at("key_id"), one.at("secret"), ""}, "us-east-1",
                  "service");
    EXPECT_EQ(signer.Authorization(request, time),
              one.at("authorization").get<std::string>());
  }
}

TEST(SignatureTest, IsThatOfTheGuidesExamples) {
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
  EXPECT_EQ(signature(request),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  request.query = "max-keys=2&prefix=J";
  EXPECT_EQ(signature(request),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  request.query = "";
  request.path = "/test.txt";
  request.headers.emplace_back("range", "bytes=0-9");
  EXPECT_EQ(signature(request),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SignatureTest, AKeyIsOfADay) {
  const RequestToSign request = {"GET", "/", "", {{"host", "h"}}, ""};
  Signer kept({"id", "secret", ""}, "eu-west-1");
  for (const char* time :
       {"20130524T000000Z", "20130525T000000Z", "20130524T000000Z"}) {
    Signer fresh({"id", "secret", ""}, "eu-west-1");
    EXPECT_EQ(kept.Authorization(request, time),
              fresh.Authorization(request, time));
  }
}

TEST(SignatureTest, WritesTimes) {
  EXPECT_EQ(SigningTime(0), "19700101T000000Z");
  EXPECT_EQ(SigningTime(1440938160), "20150830T123600Z");
}

}  // namespace
}  // namespace forebay::storage::s3
