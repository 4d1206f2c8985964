#include "server/storage/http/trusted_certificates.h"

#include <curl/curl.h>
#include <unistd.h>

#include <cstdlib>

namespace forebay::storage::http {
namespace {

// The places where distributions keep all certificates in one file.
constexpr const char* kCertificateFiles[] = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL and their kin
    "/etc/ssl/ca-bundle.pem",              // SUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer Fedora
    "/etc/ssl/cert.pem",
};

// Returns the value of an environment variable, or "" if it is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

CertificatesEnvironment CertificatesEnvironment::OfProcess() {
  const curl_version_info_data* const curl = curl_version_info(CURLVERSION_NOW);
  return {.file = Variable("SSL_CERT_FILE"),
          .directory = Variable("SSL_CERT_DIR"),
          .libcurls_default = curl->cainfo != nullptr ? curl->cainfo : "",
          .exists = [](const std::string& path) {
            return access(path.c_str(), R_OK) == 0;
          }};
}

TrustedCertificates FindTrustedCertificates(
    const CertificatesEnvironment& environment) {
  if (!environment.file.empty() || !environment.directory.empty())
    return {.file = environment.file, .directory = environment.directory};
  const std::string& usual = environment.libcurls_default;
  if (!usual.empty() && environment.exists(usual)) return {};
  for (const char* const file : kCertificateFiles)
    if (environment.exists(file)) return {.file = file, .directory = ""};
  return {};
}

}  // namespace forebay::storage::http
