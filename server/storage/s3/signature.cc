#include "server/storage/s3/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"

// The steps of a signature, by the names of the IAM User Guide: the canonical
// request has the method, path, query, headers and the body's hash. The string
// to sign has the algorithm, the time, the scope and the canonical request's
// SHA-256. The signing key is made of the secret by four HMACs: of the day, the
// region, the service and "aws4_request". The signature is the HMAC of the
// string to sign.

namespace forebay::storage::s3 {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

const unsigned char* Data(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string HexSha256(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(Data(text), text.size(), digest);
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest), sizeof(digest)});
}

std::string HmacSha256(std::string_view key, std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  unsigned size = 0;
  // HMAC fails only if there is no memory.
  FOREBAY_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                     Data(text), text.size(), digest, &size) != nullptr &&
                size == sizeof(digest));
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

// Returns `value` without blanks around it. Several blanks within become a
// single one.
std::string Trimmed(std::string_view value) {
  std::string trimmed;
  for (const char c : value) {
    if (c != ' ' && c != '\t')
      trimmed += c;
    else if (!trimmed.empty() && trimmed.back() != ' ')
      trimmed += ' ';
  }
  if (trimmed.ends_with(' ')) trimmed.pop_back();
  return trimmed;
}

// Returns the query's fields in the order of their names, then of their values.
std::string CanonicalQuery(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    const std::size_t equals = std::min(field.find('='), field.size());
    fields.emplace_back(field.substr(0, equals),
                        field.substr(std::min(equals + 1, field.size())));
  }
  std::sort(fields.begin(), fields.end());
  std::string canonical;
  for (const auto& [name, value] : fields)
    absl::StrAppend(&canonical, canonical.empty() ? "" : "&", std::string(name),
                    "=", std::string(value));
  return canonical;
}

// Returns the headers in the order of their names. Values of one name keep
// their order, and are joined by commas.
std::vector<std::pair<std::string, std::string>> CanonicalHeaders(
    const RequestToSign& request) {
  auto sorted = request.headers;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<std::string, std::string>> canonical;
  for (const auto& [name, value] : sorted) {
    if (!canonical.empty() && canonical.back().first == name)
      absl::StrAppend(&canonical.back().second, ",", Trimmed(value));
    else
      canonical.emplace_back(name, Trimmed(value));
  }
  return canonical;
}

// Returns the names of the signed headers, joined by semicolons.
std::string SignedNames(const RequestToSign& request) {
  std::string names;
  for (const auto& [name, value] : CanonicalHeaders(request))
    absl::StrAppend(&names, names.empty() ? "" : ";", name);
  return names;
}

}  // namespace

std::string SigningTime(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  const std::size_t size =
      std::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
  return std::string(text, size);
}

std::string CanonicalRequest(const RequestToSign& request) {
  std::string text = absl::StrCat(request.method, "\n", request.path, "\n",
                                  CanonicalQuery(request.query), "\n");
  for (const auto& [name, value] : CanonicalHeaders(request))
    absl::StrAppend(&text, name, ":", value, "\n");
  absl::StrAppend(&text, "\n", SignedNames(request), "\n", request.body_sha256);
  return text;
}

Signer::Signer(Keys keys, std::string region, std::string service)
    : keys_(std::move(keys)),
      region_(std::move(region)),
      service_(std::move(service)) {}

std::string Signer::Authorization(const RequestToSign& request,
                                  std::string_view signing_time) {
  const std::string_view day = signing_time.substr(0, signing_time.find('T'));
  if (day != day_) {
    key_ = HmacSha256("AWS4" + keys_.secret, day);
    for (const std::string_view part :
         {std::string_view(region_), std::string_view(service_),
          std::string_view("aws4_request")})
      key_ = HmacSha256(key_, part);
    day_ = day;
  }
  const std::string scope =
      absl::StrCat(day_, "/", region_, "/", service_, "/aws4_request");
  const std::string text =
      absl::StrCat(kAlgorithm, "\n", std::string(signing_time), "\n", scope,
                   "\n", HexSha256(CanonicalRequest(request)));
  return absl::StrCat(kAlgorithm, " Credential=", keys_.id, "/", scope,
                      ", SignedHeaders=", SignedNames(request), ", Signature=",
                      absl::BytesToHexString(HmacSha256(key_, text)));
}

}  // namespace forebay::storage::s3
