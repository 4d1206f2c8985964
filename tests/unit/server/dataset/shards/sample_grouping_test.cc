#include "server/dataset/shards/sample_grouping.h"

#include <zlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/status.h"
#include "server/dataset/shards/tar_walk.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using testing::HasSubstr;

// Appends to `samples` even if it ends in an error.
absl::Status Group(const std::string& name, const std::string& archive,
                   std::vector<GroupedSample>* samples) {
  FOREBAY_ASSIGN_OR_RETURN(TarWalk walk, TarWalk::Create(name, archive.size()));
  std::vector<TarMember> members;
  FOREBAY_RETURN_IF_ERROR(walk.See(0, AsBytes(archive), &members));
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  SampleGrouping grouping(name, &memory);
  for (const TarMember& member : members) {
    FOREBAY_RETURN_IF_ERROR(grouping.Add(member, samples));
  }
  grouping.Finish(samples);
  return absl::OkStatus();
}

void ExpectSample(const GroupedSample& sample, const GoldenSample& expected,
                  const std::string& archive) {
  EXPECT_EQ(sample.key, expected.key);
  ASSERT_EQ(sample.parts.size(), expected.fields.size()) << sample.key;
  for (std::size_t i = 0; i < sample.parts.size(); ++i) {
    const SamplePart& part = sample.parts[i];
    EXPECT_EQ(part.extension, expected.fields[i].extension);
    EXPECT_EQ(part.offset, expected.fields[i].offset);
    ASSERT_EQ(part.length, expected.fields[i].length);
    const auto bytes = AsBytes(archive).subspan(part.offset, part.length);
    EXPECT_EQ(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())),
              expected.fields[i].crc);
  }
}

TEST(SampleGroupingTest, GroupsAsWebdatasetDoes) {
  for (const GoldenShard& shard : GoldenShards()) {
    const std::string archive = GoldenFile(shard.name);
    std::vector<GroupedSample> samples;
    const absl::Status status = Group(shard.name, archive, &samples);
    ASSERT_EQ(samples.size(), shard.samples.size()) << shard.name;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ExpectSample(samples[i], shard.samples[i], archive);
    }
    if (shard.duplicate_key.empty()) {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(shard.name + ": sample " + shard.duplicate_key));
  }
}

TEST(SampleGroupingTest, BadSamplesAreLeftOut) {
  std::vector<GroupedSample> samples;
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  SampleGrouping grouping("shard", &memory);
  for (const TarMember& member :
       {TarMember{"1.jpg", 512, 1}, TarMember{"1.__bad__", 1536, 1},
        TarMember{"2.jpg", 2560, 1}}) {
    ASSERT_TRUE(grouping.Add(member, &samples).ok());
  }
  grouping.Finish(&samples);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].key, "2");
}

TEST(SampleGroupingTest, ManyMembersMayBeOfOneSample) {
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  SampleGrouping grouping("a.tar", &memory);
  std::vector<GroupedSample> samples;
  const auto add = [&](int sample, int extension) {
    TarMember member;
    member.name = absl::StrCat(sample, ".", extension);
    return grouping.Add(member, &samples);
  };
  for (int sample = 0; sample < 2; ++sample) {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(add(sample, i).ok()) << i;
  }
  for (const int i : {0, 31, 32, 999})
    EXPECT_THAT(std::string(add(1, i).message()), HasSubstr("two members"));
  grouping.Finish(&samples);
  ASSERT_EQ(samples.size(), 2);
  EXPECT_EQ(samples[0].parts.size(), 1000);
  EXPECT_EQ(samples[1].parts.size(), 1000);
}

}  // namespace
}  // namespace forebay::dataset::shards
