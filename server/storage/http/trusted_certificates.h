#ifndef FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
#define FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_

#include <functional>
#include <string>

namespace forebay::storage::http {

// Where the certificates that TLS trusts lie; "" for the place where libcurl
// looks by itself. Value type.
struct TrustedCertificates {
  std::string file;       // all of them, in PEM
  std::string directory;  // one each, by the hash of its name

  bool operator==(const TrustedCertificates&) const = default;
};

// The parts of the process that a look-up uses; tests replace them.
struct CertificatesEnvironment {
  std::string file;       // SSL_CERT_FILE, as OpenSSL's own programs have
  std::string directory;  // SSL_CERT_DIR
  std::string libcurls_default;  // the file of the host it was built for
  std::function<bool(const std::string&)> exists;

  static CertificatesEnvironment OfProcess();
};

// Returns the variables' places if one is set, else libcurl's own if it exists,
// else the first place where distributions keep them. A program that runs on
// other hosts than the one that built it cannot know the place before.
TrustedCertificates FindTrustedCertificates(
    const CertificatesEnvironment& environment);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
