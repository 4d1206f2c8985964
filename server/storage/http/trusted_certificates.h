#ifndef FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
#define FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_

#include <functional>
#include <string>

namespace forebay::storage::http {

// Where the certificates lie of those whom TLS trusts; "": where libcurl looks
// by itself. Value type.
struct TrustedCertificates {
  std::string file;       // all of them, in PEM
  std::string directory;  // one each, by the hash of its name

  bool operator==(const TrustedCertificates&) const = default;
};

// What a lookup asks of the process; tests answer themselves.
struct CertificatesEnvironment {
  std::string file;       // SSL_CERT_FILE, as OpenSSL's own programs have
  std::string directory;  // SSL_CERT_DIR
  std::string libcurls_default;  // the file of the host it was built for
  std::function<bool(const std::string&)> exists;

  static CertificatesEnvironment OfProcess();
};

// The variables' places where one is set; else libcurl's own if it is there;
// else the first of those where distributions keep them. A program that runs on
// other hosts than the one that has built it cannot know before.
TrustedCertificates FindTrustedCertificates(
    const CertificatesEnvironment& environment);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRUSTED_CERTIFICATES_H_
