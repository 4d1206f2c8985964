#ifndef FOREBAY_SERVER_STORAGE_S3_SIGNATURE_H_
#define FOREBAY_SERVER_STORAGE_S3_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay::storage::s3 {

// The secrets that requests are signed with.
struct Keys {
  // The id and the secret of the access key.
  std::string id;
  std::string secret;
  // The token of the session, for keys that expire; "" for others.
  std::string token;

  bool operator==(const Keys&) const = default;
};

// The parts of a request that are signed.
struct RequestToSign {
  std::string method;
  // The path as it stands in the URL, from its slash on.
  std::string path;
  // The query as it stands in the URL, after the question mark.
  std::string query;
  // The signed headers, by names in lower case. "host" and "x-amz-date" are
  // among them.
  std::vector<std::pair<std::string, std::string>> headers;
  // The SHA-256 of the body, in hex.
  std::string body_sha256;
};

// The SHA-256 of an empty body, in hex.
inline constexpr char kEmptySha256[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Returns a time in the form of the header x-amz-date: "20150830T123600Z".
std::string SigningTime(std::int64_t unix_seconds);

// Returns the text that stands for a request in its signature ("canonical
// request").
std::string CanonicalRequest(const RequestToSign& request);

// Signs requests by AWS's Signature Version 4. Source: "AWS Signature Version 4
// for API requests" in the IAM User Guide.
//
// Not thread-safe: it keeps the key of the last day. The user owns it. Never
// blocks. No errors.
class Signer {
 public:
  Signer(Keys keys, std::string region, std::string service = "s3");

  const Keys& keys() const { return keys_; }
  // Returns the value of the header Authorization. `signing_time` is the value
  // of the request's x-amz-date.
  std::string Authorization(const RequestToSign& request,
                            std::string_view signing_time);

 private:
  const Keys keys_;
  const std::string region_;
  const std::string service_;
  std::string day_;
  std::string key_;  // the signing key of that day
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_SIGNATURE_H_
