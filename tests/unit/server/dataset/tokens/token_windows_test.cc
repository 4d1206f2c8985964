#include "server/dataset/tokens/token_windows.h"

#include <string>
#include <utility>
#include <vector>

#include "server/dataset/tokens/token_settings.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::tokens {
namespace {

using tests::HasCode;
using tests::IsOk;

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges RangesOf(const TokenWindows& windows, std::uint64_t tokens) {
  Ranges ranges;
  for (std::uint64_t i = 0; i < windows.CountIn(tokens); ++i) {
    ranges.emplace_back(i * windows.stride,
                        i * windows.stride + windows.LengthOf(i, tokens));
  }
  return ranges;
}

// Returns the windows, cut one by one.
Ranges Expected(const TokenWindows& windows, std::uint64_t tokens) {
  Ranges ranges;
  for (std::uint64_t at = 0; at < tokens; at += windows.stride) {
    const std::uint64_t end = std::min(at + windows.length, tokens);
    const bool is_whole = end - at == windows.length;
    // A shorter window is only taken if it has new tokens.
    const bool is_new = ranges.empty() || ranges.back().second < end;
    if (end - at < windows.least || (!is_whole && !is_new)) break;
    ranges.emplace_back(at, end);
  }
  return ranges;
}

TEST_CASE("Windows of tokens are those that are cut one by one",
          "[tokens][windows]") {
  for (std::uint64_t length = 1; length <= 5; ++length) {
    for (std::uint64_t least = 1; least <= length; ++least) {
      for (std::uint64_t stride = 1; stride <= 8; ++stride) {
        const TokenWindows windows = {length, stride, least};
        for (std::uint64_t tokens = 0; tokens <= 30; ++tokens) {
          UNSCOPED_INFO(length << " " << least << " " << stride << " "
                               << tokens);
          CHECK(RangesOf(windows, tokens) == Expected(windows, tokens));
        }
      }
    }
  }
}

TEST_CASE("Windows of tokens may have large numbers", "[tokens][windows]") {
  const TokenWindows one = {UINT64_MAX, UINT64_MAX, 2};
  CHECK(one.CountIn(UINT64_MAX - 1) == 1);
  CHECK(one.LengthOf(0, UINT64_MAX - 1) == UINT64_MAX - 1);
  CHECK(one.CountIn(1) == 0);
  const TokenWindows each = {1, 1, 1};
  CHECK(each.CountIn(UINT64_MAX) == UINT64_MAX);
  const TokenWindows tail = {2, 1, 1};
  CHECK(tail.CountIn(UINT64_MAX) == UINT64_MAX - 1);
}

TEST_CASE("Token settings are those of the spec", "[tokens][windows]") {
  proto::Tokens spec;
  spec.set_length(8);
  const auto plain = SettingsOf(spec);
  REQUIRE_THAT(plain, IsOk());
  CHECK(plain->stride == 8);
  CHECK_FALSE(plain->is_ragged());
  CHECK(plain->windows().least == 8);
  spec.set_stride(4);
  spec.set_dtype(proto::UINT16);
  spec.set_each_document(true);
  spec.set_keeps_tail(true);
  spec.set_has_targets(true);
  const auto settings = SettingsOf(spec);
  REQUIRE_THAT(settings, IsOk());
  CHECK(settings->length == 8);
  CHECK(settings->stride == 4);
  CHECK(settings->dtype == proto::DType::kUint16);
  CHECK(settings->each_document);
  CHECK(settings->is_ragged());
  CHECK(settings->windows().length == 9);
  CHECK(settings->windows().least == 2);
  CHECK(plain->text() != settings->text());
  const auto whole = SettingsOf(proto::Tokens());
  REQUIRE_THAT(whole, IsOk());
  CHECK(whole->each_document);
  CHECK(whole->is_ragged());
}

TEST_CASE("Token settings that are not valid are refused",
          "[tokens][windows]") {
  const auto refusal = [](const auto& change) {
    proto::Tokens spec;
    spec.set_length(8);
    change(spec);
    const absl::Status status = SettingsOf(spec).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    return std::string(status.message());
  };
  constexpr std::uint64_t kTooMany = (std::uint64_t{1} << 40) + 1;
  CHECK(refusal([](auto& spec) { spec.set_length(kTooMany); }) ==
        "length cannot be \"1099511627777\": see the settings of tokens");
  CHECK(
      refusal([](auto& spec) { spec.set_stride(UINT64_MAX); }) ==
      "stride cannot be \"18446744073709551615\": see the settings of tokens");
  CHECK(refusal([](auto& spec) {
          spec.set_length(0);
          spec.set_stride(1);
        }) == "whole documents have no stride, which is of windows");
  for (const int dtype : {-1, 4, 10, 14, 99}) {
    CAPTURE(dtype);
    refusal([&](auto& spec) {
      spec.set_dtype(static_cast<proto::DataType>(dtype));
    });
  }
}

}  // namespace
}  // namespace forebay::dataset::tokens
