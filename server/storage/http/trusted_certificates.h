#ifndef FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
#define FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_

#include <functional>
#include <string>

namespace forebay::storage::http {

// The places of the certificates that TLS trusts. A place is "" where libcurl
// looks by itself. Value type.
struct TrustedCertificates {
  // A file with all certificates, in PEM.
  std::string file;
  // A directory with a file for each certificate, named by the hash of its
  // subject.
  std::string directory;

  bool operator==(const TrustedCertificates&) const = default;
};

// The parts of the process that a look-up uses. Tests replace them.
struct CertificatesEnvironment {
  std::string file;       // SSL_CERT_FILE, as for OpenSSL's own programs
  std::string directory;  // SSL_CERT_DIR
  // The file on the host that libcurl was built for.
  std::string libcurls_default;
  std::function<bool(const std::string&)> exists;

  // Returns the environment of this process.
  static CertificatesEnvironment OfProcess();
};

// Returns the places that the variables name, if one is set. If no variable is
// set, returns libcurl's own place if it exists, or the first existing place
// where distributions keep certificates. A program that runs on other hosts
// than the one that built it cannot know the place beforehand. Thread-safe;
// blocks for file I/O.
TrustedCertificates FindTrustedCertificates(
    const CertificatesEnvironment& environment);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
