#include "server/dataset/tokens/windows.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/dataset/tokens/token_settings.h"

namespace forebay::dataset::tokens {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges RangesOf(const Windows& windows, std::uint64_t tokens) {
  Ranges ranges;
  for (std::uint64_t i = 0; i < windows.CountIn(tokens); ++i) {
    ranges.emplace_back(i * windows.stride,
                        i * windows.stride + windows.LengthOf(i, tokens));
  }
  return ranges;
}

// One by one.
Ranges Expected(const Windows& windows, std::uint64_t tokens) {
  Ranges ranges;
  for (std::uint64_t at = 0; at < tokens; at += windows.stride) {
    const std::uint64_t end = std::min(at + windows.length, tokens);
    const bool is_whole = end - at == windows.length;
    // A shorter one must have something new.
    const bool is_new = ranges.empty() || ranges.back().second < end;
    if (end - at < windows.least || (!is_whole && !is_new)) break;
    ranges.emplace_back(at, end);
  }
  return ranges;
}

TEST(WindowsTest, AreThoseThatAreCutOneByOne) {
  for (std::uint64_t length = 1; length <= 5; ++length) {
    for (std::uint64_t least = 1; least <= length; ++least) {
      for (std::uint64_t stride = 1; stride <= 8; ++stride) {
        const Windows windows = {length, stride, least};
        for (std::uint64_t tokens = 0; tokens <= 30; ++tokens) {
          EXPECT_EQ(RangesOf(windows, tokens), Expected(windows, tokens))
              << length << " " << least << " " << stride << " " << tokens;
        }
      }
    }
  }
}

TEST(WindowsTest, NumbersMayBeLarge) {
  const Windows one = {UINT64_MAX, UINT64_MAX, 2};
  EXPECT_EQ(one.CountIn(UINT64_MAX - 1), 1);
  EXPECT_EQ(one.LengthOf(0, UINT64_MAX - 1), UINT64_MAX - 1);
  EXPECT_EQ(one.CountIn(1), 0);
  const Windows each = {1, 1, 1};
  EXPECT_EQ(each.CountIn(UINT64_MAX), UINT64_MAX);
  const Windows tail = {2, 1, 1};
  EXPECT_EQ(tail.CountIn(UINT64_MAX), UINT64_MAX - 1);
}

TEST(TokenSettingsTest, AreReadByName) {
  const auto settings = ReadTokenSettings(
      {"length", "stride", "dtype", "documents", "tail", "targets"},
      {"8", "4", "uint16", "each", "keep", "1"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->length, 8);
  EXPECT_EQ(settings->stride, 4);
  EXPECT_EQ(settings->dtype, proto::DType::kUint16);
  EXPECT_TRUE(settings->each_document);
  EXPECT_TRUE(settings->is_ragged());
  EXPECT_EQ(settings->windows().length, 9);
  EXPECT_EQ(settings->windows().least, 2);
  const auto plain = ReadTokenSettings({"length"}, {"8"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->stride, 8);
  EXPECT_FALSE(plain->is_ragged());
  EXPECT_EQ(plain->windows().least, 8);
  EXPECT_NE(plain->text(), settings->text());
  const auto whole = ReadTokenSettings({"length"}, {"document"});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(whole->each_document);
  EXPECT_TRUE(whole->is_ragged());
}

TEST(TokenSettingsTest, OthersAreRefused) {
  using Texts = std::vector<std::string>;
  for (const auto& [names, values] : std::vector<std::pair<Texts, Texts>>{
           {{}, {}},
           {{"length"}, {}},
           {{"length"}, {"0"}},
           {{"length"}, {"-1"}},
           {{"length"}, {"1099511627777"}},
           {{"length"}, {"18446744073709551617"}},
           {{"length"}, {"8x"}},
           {{"length", "length"}, {"8", "8"}},
           {{"length", "stride"}, {"8", "0"}},
           {{"length", "stride"}, {"document", "1"}},
           {{"length", "dtype"}, {"8", "float32"}},
           {{"length", "documents"}, {"8", "some"}},
           {{"length", "tail"}, {"8", ""}},
           {{"length", "targets"}, {"8", "2"}},
           {{"length", "color"}, {"8", "red"}}}) {
    EXPECT_EQ(ReadTokenSettings(names, values).status().code(),
              absl::StatusCode::kInvalidArgument)
        << testing::PrintToString(names) << testing::PrintToString(values);
  }
}

}  // namespace
}  // namespace forebay::dataset::tokens
