// Fuzzes small fields of a sample: integers and texts. The daemon reports the
// bytes as corrupt, or reads the same value as Python would.

#include <cstdint>
#include <string>
#include <string_view>

#include "server/pipeline/decode/integer_text.h"
#include "server/pipeline/decode/utf8_text.h"
#include "tests/fuzz/require.h"

namespace {

namespace decode = forebay::pipeline::decode;
using forebay::fuzz::Require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto number = decode::DecodeInteger({data, size});
  if (number.ok()) {
    const std::string digits = std::to_string(*number);
    const auto again = decode::DecodeInteger(
        {reinterpret_cast<const std::uint8_t*>(digits.data()), digits.size()});
    Require(again.ok() && *again == *number);
  } else {
    Require(absl::IsDataLoss(number.status()));
  }
  const auto text = decode::DecodeText({data, size});
  if (!text.ok()) {
    Require(absl::IsDataLoss(text.status()));
    return 0;
  }
  Require(text->size() <= size);
  // UTF-8 has no surrogates (RFC 3629, section 3).
  Require(text->find("\xed\xa0") == text->npos);
  return 0;
}
