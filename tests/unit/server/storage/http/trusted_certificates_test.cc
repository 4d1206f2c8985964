#include "server/storage/http/trusted_certificates.h"

#include <set>
#include <string>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

constexpr char kDebian[] = "/etc/ssl/certs/ca-certificates.crt";
constexpr char kFedora[] = "/etc/pki/tls/certs/ca-bundle.crt";

CertificatesEnvironment Host(const std::set<std::string>& files) {
  return {.file = "",
          .directory = "",
          .libcurls_default = kDebian,
          .exists = [files](const std::string& path) {
            return files.contains(path);
          }};
}

TEST_CASE("Trusted certificates at libcurl's own place are left to libcurl",
          "[http][trusted_certificates]") {
  CHECK(FindTrustedCertificates(Host({kDebian, kFedora})) ==
        TrustedCertificates());
}

TEST_CASE("Trusted certificates are found at the places of other distributions",
          "[http][trusted_certificates]") {
  CHECK(FindTrustedCertificates(Host({kFedora})).file == kFedora);
  CHECK(FindTrustedCertificates(Host({})) == TrustedCertificates());
}

TEST_CASE(
    "The user's variables come first in the search for trusted certificates",
    "[http][trusted_certificates]") {
  CertificatesEnvironment host = Host({kDebian});
  host.file = "/mine.pem";
  CHECK(FindTrustedCertificates(host) ==
        TrustedCertificates{.file = "/mine.pem", .directory = ""});
  host.directory = "/mine";
  CHECK(FindTrustedCertificates(host) ==
        TrustedCertificates{.file = "/mine.pem", .directory = "/mine"});
}

TEST_CASE(
    "The process environment for trusted certificates tells which files exist",
    "[http][trusted_certificates]") {
  const CertificatesEnvironment process = CertificatesEnvironment::OfProcess();
  CHECK(process.exists("/"));
  CHECK_FALSE(process.exists("/no/such/file"));
}

}  // namespace
}  // namespace forebay::storage::http
