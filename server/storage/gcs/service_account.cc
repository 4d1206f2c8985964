#include "server/storage/gcs/service_account.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/json.h"
#include "server/base/status.h"

namespace forebay::storage::gcs {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;
// The seconds that a token lasts, which is the most that Google accepts.
constexpr std::int64_t kLifeSeconds = 3600;

std::string StringIn(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

// Returns JSON in base64url (RFC 7515, section 2), as the parts of a JWT are.
// Bytes that are not UTF-8 are replaced: names in the file may have such bytes.
std::string Encoded(const Json& json) {
  return absl::WebSafeBase64Escape(
      json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Fails for keys that a passphrase locks: the daemon can ask nobody for the
// passphrase.
int NoPassphrase(char*, int, int, void*) { return -1; }

// Returns the signature of `text` with RS256 (RFC 7518, 3.3), or nothing if
// OpenSSL fails.
std::optional<std::string> Signature(EVP_PKEY* key, const std::string& text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) !=
          1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) != 1)
    return std::nullopt;
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(),
                     reinterpret_cast<unsigned char*>(signature.data()), &size,
                     data, text.size()) != 1)
    return std::nullopt;
  signature.resize(size);
  return signature;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceAccount>> ServiceAccount::Parse(
    std::string_view json, const base::Clock* wall) {
  FOREBAY_ASSIGN_OR_RETURN(const Json file, base::ParseJsonObject(json));
  if (StringIn(file, "type") != "service_account")
    return absl::InvalidArgumentError("is not a key of a service account");
  std::string email = StringIn(file, "client_email");
  const std::string pem = StringIn(file, "private_key");
  if (email.empty() || pem.empty())
    return absl::InvalidArgumentError(
        "names no client_email, or holds no private_key");
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, &NoPassphrase, nullptr),
      &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA)
    return absl::InvalidArgumentError(
        "its private_key is not an RSA key in PEM");
  return std::unique_ptr<ServiceAccount>(new ServiceAccount(
      std::move(email), StringIn(file, "private_key_id"), key, wall));
}

void ServiceAccount::Fetch(std::function<void(absl::StatusOr<Token>)> done) {
  done(Sign());
}

absl::StatusOr<Token> ServiceAccount::Sign() const {
  const std::int64_t now = wall_->NowNanos() / kSecond;
  const std::string text = absl::StrCat(
      Encoded({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", key_id_}}), ".",
      Encoded({{"iss", email_},
               {"sub", email_},
               {"aud", "https://storage.googleapis.com/"},
               {"iat", now},
               {"exp", now + kLifeSeconds}}));
  const std::optional<std::string> signature =
      Signature(static_cast<EVP_PKEY*>(key_.get()), text);
  if (!signature.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat(email_, ": its private_key cannot sign"));
  return Token{absl::StrCat(text, ".", absl::WebSafeBase64Escape(*signature)),
               (now + kLifeSeconds) * kSecond};
}

}  // namespace forebay::storage::gcs
