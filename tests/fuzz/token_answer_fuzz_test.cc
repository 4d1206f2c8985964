// Fuzzes the answer of a server that gives tokens. Reading the answer gives an
// error, or a token that fits into one line of a request.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/storage/gcs/token_source.h"

namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000'000;
constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1'000'000'000;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto token = forebay::storage::gcs::ParseTokenAnswer(json, kNow);
  if (!token.ok()) return 0;
  Require(!token->value.empty());
  for (const char c : token->value) Require(c > ' ' && c < 127);
  Require(token->expires_nanos >= kNow && token->expires_nanos <= kNow + kDay);
  return 0;
}
