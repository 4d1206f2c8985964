#include "server/dataset/shards/shard_index.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::shards {
namespace {

using testing::HasSubstr;

FieldChoice Fields(const std::vector<std::string>& fields) {
  auto choice = FieldChoice::Create(fields);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return *std::move(choice);
}

const std::vector<Shard>& Shards() {
  static const std::vector<Shard> shards = {{"a/0.tar", {10240, 7}},
                                            {"a/empty.tar", {1024, 8}},
                                            {"b.tar", {4096, 9}}};
  return shards;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> Build(
    const FieldChoice& fields, absl::Span<const Shard> shards,
    std::vector<ShardSamples> samples) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  return BuildShardIndex(fields, shards, std::move(samples), memory);
}

ShardIndexParts Copy(const ShardIndexParts& of) {
  return {of.fields,   of.shards, of.members, of.alternatives,
          of.inflated, of.keys,   of.names};
}

ShardSamples Packed(const Shard& shard, const FieldChoice& fields,
                    const std::vector<ChosenMember>& chosen) {
  ShardSamples samples;
  for (std::size_t i = 0; i < chosen.size(); i += fields.size()) {
    const absl::Status status =
        Pack(shard, fields, absl::StrCat(shard.name, "/", 9 + i),
             absl::MakeSpan(chosen).subspan(i, fields.size()), &samples);
    EXPECT_TRUE(status.ok()) << status;
  }
  return samples;
}

std::shared_ptr<const ShardIndex> Index() {
  const FieldChoice fields = Fields({"jpg;png", "cls"});
  auto index = Build(
      fields, Shards(),
      {Packed(Shards()[0], fields,
              {{512, 100, 0}, {1536, 1, 0}, {4096, 700, 1}, {2560, 2, 0}}),
       ShardSamples(),
       Packed(Shards()[2], fields, {{512, 9, 1}, {3584, 3, 0}})});
  EXPECT_TRUE(index.ok()) << index.status();
  return *std::move(index);
}

TEST(ShardIndexTest, ARevisionIsOfTheShardAndNotOfTheVersion) {
  std::vector<Shard> shards = Shards();
  shards[0].version.revision = {.inode = 5, .ctime_nanos = 6};
  const FieldChoice fields = Fields({"cls"});
  const auto samples = [&] {
    return std::vector<ShardSamples>{
        Packed(shards[0], fields, {{512, 100, 0}, {1536, 1, 0}}),
        ShardSamples(), Packed(shards[2], fields, {{512, 9, 0}})};
  };
  const auto index = *Build(fields, shards, samples());
  const auto plain = *Build(fields, Shards(), samples());
  EXPECT_EQ(index->version(), plain->version());
  EXPECT_EQ(index->ShardAt(0).version, shards[0].version);
  EXPECT_TRUE(index->IsOf(fields, shards));
  EXPECT_FALSE(index->IsOf(fields, Shards()));

  shards[0].version.revision.ctime_nanos = 7;
  EXPECT_FALSE(index->IsOf(fields, shards));
  const storage::Revision touched = shards[0].version.revision;
  EXPECT_FALSE(index->Accept("a/0.tar", touched, samples()[2]));
  EXPECT_FALSE(index->Accept("a/0.tar", {6, 7}, samples()[0]));
  EXPECT_FALSE(index->IsOf(fields, shards));
  EXPECT_TRUE(index->Accept("a/0.tar", touched, samples()[0]));
  EXPECT_TRUE(index->IsOf(fields, shards));
  EXPECT_EQ(index->RevisionOf("a/0.tar"), touched);
  EXPECT_EQ(index->RevisionOf("b.tar"), storage::Revision());
}

TEST(ShardIndexTest, FindsEachField) {
  const auto index = Index();
  ASSERT_EQ(index->size(), 3u);
  EXPECT_EQ(index->shard_count(), 3u);
  EXPECT_EQ(index->ShardOf(0), 0u);
  EXPECT_EQ(index->ShardOf(1), 0u);
  EXPECT_EQ(index->ShardOf(2), 2u);
  EXPECT_EQ(index->ShardAt(2).name, "b.tar");
  EXPECT_EQ(index->ShardAt(0).version.size, 10240u);
  EXPECT_EQ(index->ShardAt(0).version.stamp, 7);
  const ChosenMember image = index->MemberOf(1, 0);
  EXPECT_EQ(image.offset, 4096u);
  EXPECT_EQ(image.length, 700u);
  EXPECT_EQ(image.alternative, 1u);
  EXPECT_EQ(index->MemberOf(2, 1).offset, 3584u);
  EXPECT_EQ(index->MemberOf(2, 1).alternative, 0u);
  EXPECT_EQ(index->MemberOf(0, 0).alternative, 0u);
}

TEST(ShardIndexTest, AnExtentHoldsAllFields) {
  const auto index = Index();
  EXPECT_EQ(index->ExtentOf(0).offset, 512u);
  EXPECT_EQ(index->ExtentOf(0).length, 1025u);
  EXPECT_EQ(index->ExtentOf(1).offset, 2560u);
  EXPECT_EQ(index->ExtentOf(1).length, 4096u + 700 - 2560);
  EXPECT_EQ(index->largest_extent(), 3584u + 3 - 512);
}

TEST(ShardIndexTest, KnowsKeysAndTheLengthsOfEachField) {
  const auto index = Index();
  EXPECT_EQ(index->KeyOf(0), "a/0.tar/9");
  EXPECT_EQ(index->KeyOf(1), "a/0.tar/11");
  EXPECT_EQ(index->KeyOf(2), "b.tar/9");
  EXPECT_EQ(index->LongestOf(0), 700u);
  EXPECT_EQ(index->LongestOf(1), 3u);
  EXPECT_EQ(index->ShortestOf(0), 9u);
  EXPECT_EQ(index->ShortestOf(1), 1u);
}

TEST(ShardIndexTest, KnowsWhatItIsOf) {
  const auto index = Index();
  const FieldChoice fields = Fields({"jpg;png", "cls"});
  EXPECT_TRUE(index->IsOf(fields, Shards()));
  EXPECT_FALSE(index->IsOf(Fields({"jpg", "cls"}), Shards()));
  EXPECT_FALSE(index->IsOf(fields, {}));
  std::vector<Shard> shards = Shards();
  shards[1].version.stamp = 0;
  EXPECT_FALSE(index->IsOf(fields, shards));
  shards = Shards();
  shards[1].version.size = 0;
  EXPECT_FALSE(index->IsOf(fields, shards));
  shards = Shards();
  shards[1].name = "a/other.tar";
  EXPECT_FALSE(index->IsOf(fields, shards));
}

TEST(ShardIndexTest, VersionsDifferWithEverything) {
  const FieldChoice fields = Fields({"jpg;png"});
  const Shard shard = {"0.tar", {10240, 7}};
  const auto version = [&](const Shard& shard, const FieldChoice& fields,
                           const ChosenMember& member) {
    auto index = Build(fields, {{shard}}, {Packed(shard, fields, {member})});
    EXPECT_TRUE(index.ok()) << index.status();
    return (*index)->version();
  };
  const Version first = version(shard, fields, {512, 1, 0});
  EXPECT_EQ(version(shard, fields, {512, 1, 0}), first);
  EXPECT_NE(version(shard, fields, {1024, 1, 0}), first);
  EXPECT_NE(version(shard, fields, {512, 2, 0}), first);
  EXPECT_NE(version(shard, fields, {512, 1, 1}), first);
  EXPECT_NE(version(shard, Fields({"jpg;jpeg"}), {512, 1, 0}), first);
  EXPECT_NE(version({"1.tar", {10240, 7}}, fields, {512, 1, 0}), first);
  EXPECT_NE(version({"0.tar", {10241, 7}}, fields, {512, 1, 0}), first);
  EXPECT_NE(version({"0.tar", {10240, 8}}, fields, {512, 1, 0}), first);
}

TEST(ShardIndexTest, LargeShardsFitAndLargerDoNot) {
  const FieldChoice fields = Fields({"jpg"});
  const Shard shard = {"huge.tar", {std::uint64_t{1} << 62, 1}};
  const ChosenMember last = {MemberRecord::kLargestOffset,
                             MemberRecord::kLargestLength, 0};
  auto index = Build(fields, {{shard}}, {Packed(shard, fields, {last})});
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->MemberOf(0, 0).offset, last.offset);
  EXPECT_EQ((*index)->MemberOf(0, 0).length, last.length);
  for (const ChosenMember& member :
       {ChosenMember{last.offset + kTarBlock, 1, 0},
        ChosenMember{512, last.length + 1, 0}}) {
    ShardSamples samples;
    const absl::Status status = Pack(shard, fields, "1", {{member}}, &samples);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("huge.tar"));
  }
}

TEST(ShardIndexTest, TakesEightBytesAFieldOfASampleAndLittleForKeys) {
  constexpr std::uint64_t kSamples = 100000;
  const FieldChoice fields = Fields({"jpg", "cls"});
  const Shard shard = {"0.tar", {kSamples * 2048, 1}};
  std::vector<ChosenMember> chosen;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    chosen.push_back({i * 2048, 512, 0});
    chosen.push_back({i * 2048 + 1024, 1, 0});
  }
  auto index = Build(fields, {{shard}}, {Packed(shard, fields, chosen)});
  ASSERT_TRUE(index.ok()) << index.status();
  // Mostly a digit or two of a key are new.
  EXPECT_LE((*index)->memory(), kSamples * (16 + 4) + 1024);
}

TEST(ShardIndexTest, RefusesPartsThatDoNotFit) {
  const std::vector<void (*)(ShardIndexParts&)> spoilers = {
      [](ShardIndexParts& parts) { parts.fields.clear(); },
      [](ShardIndexParts& parts) { parts.fields[0] = "jpg"; },
      [](ShardIndexParts& parts) { parts.fields[1] = "cls;cls2"; },
      [](ShardIndexParts& parts) { parts.fields.pop_back(); },
      [](ShardIndexParts& parts) { parts.shards.clear(); },
      [](ShardIndexParts& parts) { parts.shards[0].first_sample = 1; },
      [](ShardIndexParts& parts) { parts.shards[1].first_sample = 3; },
      [](ShardIndexParts& parts) { parts.shards[2].first_sample = 4; },
      [](ShardIndexParts& parts) { parts.shards[0].path_length = 0; },
      [](ShardIndexParts& parts) { parts.shards[2].path_length = 6; },
      [](ShardIndexParts& parts) { parts.shards[0].path_offset = UINT64_MAX; },
      [](ShardIndexParts& parts) { parts.shards[0].size = 4096; },
      [](ShardIndexParts& parts) { parts.shards[0].keys_offset = 1; },
      [](ShardIndexParts& parts) { ++parts.shards[2].keys_offset; },
      [](ShardIndexParts& parts) { parts.shards[2].keys_offset = UINT64_MAX; },
      [](ShardIndexParts& parts) { parts.keys[0] = 1; },
      [](ShardIndexParts& parts) { parts.keys.pop_back(); },
      [](ShardIndexParts& parts) { parts.keys += std::string(2, '\0'); },
      [](ShardIndexParts& parts) { parts.names[3] = '\0'; },
      [](ShardIndexParts& parts) { parts.members.pop_back(); },
      [](ShardIndexParts& parts) { parts.members[5].block = 8; },
      [](ShardIndexParts& parts) { parts.members[5].length = UINT32_MAX; },
      [](ShardIndexParts& parts) { parts.alternatives[0] = 2; },
      [](ShardIndexParts& parts) { parts.alternatives.push_back(0); },
  };
  ASSERT_TRUE(ShardIndex::Create(Copy(Index()->parts())).ok());
  for (std::size_t i = 0; i < spoilers.size(); ++i) {
    ShardIndexParts parts = Copy(Index()->parts());
    spoilers[i](parts);
    EXPECT_EQ(ShardIndex::Create(std::move(parts)).status().code(),
              absl::StatusCode::kDataLoss)
        << i;
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
