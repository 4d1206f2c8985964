#include "server/storage/http/trusted_certificates.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

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

TEST(TrustedCertificatesTest, LibcurlsOwnPlaceIsLeftToIt) {
  EXPECT_EQ(FindTrustedCertificates(Host({kDebian, kFedora})),
            TrustedCertificates());
}

TEST(TrustedCertificatesTest, OtherDistributionsHaveOtherPlaces) {
  EXPECT_EQ(FindTrustedCertificates(Host({kFedora})).file, kFedora);
  EXPECT_EQ(FindTrustedCertificates(Host({})), TrustedCertificates());
}

TEST(TrustedCertificatesTest, TheUsersVariablesComeFirst) {
  CertificatesEnvironment host = Host({kDebian});
  host.file = "/mine.pem";
  EXPECT_EQ(FindTrustedCertificates(host),
            (TrustedCertificates{.file = "/mine.pem", .directory = ""}));
  host.directory = "/mine";
  EXPECT_EQ(FindTrustedCertificates(host),
            (TrustedCertificates{.file = "/mine.pem", .directory = "/mine"}));
}

TEST(TrustedCertificatesTest, ThisProcessHasSome) {
  const CertificatesEnvironment process = CertificatesEnvironment::OfProcess();
  EXPECT_TRUE(process.exists("/"));
  EXPECT_FALSE(process.exists("/no/such/file"));
}

}  // namespace
}  // namespace forebay::storage::http
