// Fuzzes files of credentials. Reading one gives an error or credentials. The
// key of a service account then signs, or tells why it does not. No error
// reveals the file's content. "@KEY@" in a file is replaced by a valid key.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/base/clock.h"
#include "server/storage/gcs/oauth_tokens.h"
#include "server/storage/gcs/service_account.h"
#include "tests/fuzz/require.h"

namespace {

namespace gcs = forebay::storage::gcs;
using forebay::fuzz::Require;

// The greatest length of an error in characters. The code's own words are not
// longer.
constexpr std::size_t kLongestError = 100;

// Returns a key in PEM, escaped as in JSON.
std::string MakeKey() {
  constexpr std::size_t kBits = 1024;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_RSA_gen(kBits), &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()),
                                                         &BIO_free);
  Require(PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0,
                                   nullptr, nullptr) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  std::string escaped;
  for (const char c : std::string_view(text, static_cast<std::size_t>(size))) {
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

void Expect(const absl::Status& status) {
  Require(status.ok() || (absl::IsInvalidArgument(status) &&
                          status.message().size() <= kLongestError));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr std::string_view kKey = "@KEY@";
  static const auto* const key = new std::string(MakeKey());
  std::string json(reinterpret_cast<const char*>(data), size);
  const std::size_t at = json.find(kKey);
  if (at != json.npos) json.replace(at, kKey.size(), *key);
  const forebay::base::Clock* const wall = forebay::base::Clock::Wall();
  Expect(gcs::OauthTokens::OfUser(nullptr, wall, json).status());
  const auto account = gcs::ServiceAccount::Parse(json, wall);
  Expect(account.status());
  if (!account.ok()) return 0;
  std::optional<absl::StatusOr<gcs::Token>> token;
  (*account)->Fetch(
      [&](const absl::StatusOr<gcs::Token>& got) { token = got; });
  Require(token.has_value());
  if (!token->ok()) return 0;
  for (const char c : (*token)->value) Require(c > ' ' && c < 127);
  return 0;
}
