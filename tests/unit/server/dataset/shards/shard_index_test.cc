#include "server/dataset/shards/shard_index.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

FieldChoice Fields(const std::vector<std::string>& fields) {
  auto choice = FieldChoice::Create(fields);
  CHECK_THAT(choice, IsOk());
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
  return {of.fields,       of.shards, of.members, of.alternatives,
          of.decompressed, of.keys,   of.names};
}

ShardSamples Compressed(const Shard& shard, const FieldChoice& fields,
                        const std::vector<ChosenMember>& chosen) {
  ShardSamples samples;
  for (std::size_t i = 0; i < chosen.size(); i += fields.size()) {
    const absl::Status status =
        Pack(shard, fields, absl::StrCat(shard.name, "/", 9 + i),
             absl::MakeSpan(chosen).subspan(i, fields.size()), &samples);
    CHECK_THAT(status, IsOk());
  }
  return samples;
}

std::shared_ptr<const ShardIndex> Index() {
  const FieldChoice fields = Fields({"jpg;png", "cls"});
  auto index = Build(
      fields, Shards(),
      {Compressed(Shards()[0], fields,
                  {{512, 100, 0}, {1536, 1, 0}, {4096, 700, 1}, {2560, 2, 0}}),
       ShardSamples(),
       Compressed(Shards()[2], fields, {{512, 9, 1}, {3584, 3, 0}})});
  CHECK_THAT(index, IsOk());
  return *std::move(index);
}

TEST_CASE("A shard's revision is not part of the shard index's version",
          "[shards][shard_index]") {
  std::vector<Shard> shards = Shards();
  shards[0].version.revision = {.inode = 5, .ctime_nanos = 6};
  const FieldChoice fields = Fields({"cls"});
  const auto samples = [&] {
    return std::vector<ShardSamples>{
        Compressed(shards[0], fields, {{512, 100, 0}, {1536, 1, 0}}),
        ShardSamples(), Compressed(shards[2], fields, {{512, 9, 0}})};
  };
  const auto index = *Build(fields, shards, samples());
  const auto plain = *Build(fields, Shards(), samples());
  CHECK(index->version() == plain->version());
  CHECK(index->ShardAt(0).version == shards[0].version);
  CHECK(index->IsOf(fields, shards));
  CHECK_FALSE(index->IsOf(fields, Shards()));

  shards[0].version.revision.ctime_nanos = 7;
  CHECK_FALSE(index->IsOf(fields, shards));
  const storage::Revision touched = shards[0].version.revision;
  CHECK_FALSE(index->Accept("a/0.tar", touched, samples()[2]));
  CHECK_FALSE(index->Accept("a/0.tar", {6, 7}, samples()[0]));
  CHECK_FALSE(index->IsOf(fields, shards));
  CHECK(index->Accept("a/0.tar", touched, samples()[0]));
  CHECK(index->IsOf(fields, shards));
  CHECK(index->RevisionOf("a/0.tar") == touched);
  CHECK(index->RevisionOf("b.tar") == storage::Revision());
}

TEST_CASE("A shard index that refuses a shard changes none of its entries",
          "[shards][shard_index]") {
  // The dataset lists one shard twice, with other samples each time.
  const Shard shard = {"a.tar", {10240, 7, {.inode = 5, .ctime_nanos = 6}}};
  const std::vector<Shard> shards = {shard, shard};
  const FieldChoice fields = Fields({"cls"});
  const auto samples = [&] {
    return std::vector<ShardSamples>{
        Compressed(shard, fields, {{512, 100, 0}}),
        Compressed(shard, fields, {{1536, 100, 0}})};
  };
  const auto index = *Build(fields, shards, samples());
  for (const std::size_t of : {0, 1}) {
    CAPTURE(of);
    CHECK_FALSE(index->Accept("a.tar", {5, 7}, samples()[of]));
    CHECK(index->IsOf(fields, shards));
  }
}

TEST_CASE("A shard index finds each field", "[shards][shard_index]") {
  const auto index = Index();
  REQUIRE(index->size() == 3u);
  CHECK(index->shard_count() == 3u);
  CHECK(index->ShardOf(0) == 0u);
  CHECK(index->ShardOf(1) == 0u);
  CHECK(index->ShardOf(2) == 2u);
  CHECK(index->ShardAt(2).name == "b.tar");
  CHECK(index->ShardAt(0).version.size == 10240u);
  CHECK(index->ShardAt(0).version.stamp == 7);
  const ChosenMember image = index->MemberOf(1, 0);
  CHECK(image.offset == 4096u);
  CHECK(image.length == 700u);
  CHECK(image.alternative == 1u);
  CHECK(index->MemberOf(2, 1).offset == 3584u);
  CHECK(index->MemberOf(2, 1).alternative == 0u);
  CHECK(index->MemberOf(0, 0).alternative == 0u);
}

TEST_CASE("A shard index's extent of a sample holds all of its fields",
          "[shards][shard_index]") {
  const auto index = Index();
  CHECK(index->ExtentOf(0).offset == 512u);
  CHECK(index->ExtentOf(0).length == 1025u);
  CHECK(index->ExtentOf(1).offset == 2560u);
  CHECK(index->ExtentOf(1).length == 4096u + 700 - 2560);
  CHECK(index->largest_extent() == 3584u + 3 - 512);
}

TEST_CASE("A shard index knows keys and the lengths of each field",
          "[shards][shard_index]") {
  const auto index = Index();
  CHECK(index->KeyOf(0) == "a/0.tar/9");
  CHECK(index->KeyOf(1) == "a/0.tar/11");
  CHECK(index->KeyOf(2) == "b.tar/9");
  CHECK(index->LongestOf(0) == 700u);
  CHECK(index->LongestOf(1) == 3u);
  CHECK(index->ShortestOf(0) == 9u);
  CHECK(index->ShortestOf(1) == 1u);
}

TEST_CASE("A shard index knows its fields and shards",
          "[shards][shard_index]") {
  const auto index = Index();
  const FieldChoice fields = Fields({"jpg;png", "cls"});
  CHECK(index->IsOf(fields, Shards()));
  CHECK_FALSE(index->IsOf(Fields({"jpg", "cls"}), Shards()));
  CHECK_FALSE(index->IsOf(fields, {}));
  std::vector<Shard> shards = Shards();
  shards[1].version.stamp = 0;
  CHECK_FALSE(index->IsOf(fields, shards));
  shards = Shards();
  shards[1].version.size = 0;
  CHECK_FALSE(index->IsOf(fields, shards));
  shards = Shards();
  shards[1].name = "a/other.tar";
  CHECK_FALSE(index->IsOf(fields, shards));
}

TEST_CASE("A shard index's version differs with each of its parts",
          "[shards][shard_index]") {
  const FieldChoice fields = Fields({"jpg;png"});
  const Shard shard = {"0.tar", {10240, 7}};
  const auto version = [&](const Shard& shard, const FieldChoice& fields,
                           const ChosenMember& member) {
    auto index =
        Build(fields, {{shard}}, {Compressed(shard, fields, {member})});
    CHECK_THAT(index, IsOk());
    return (*index)->version();
  };
  const Version first = version(shard, fields, {512, 1, 0});
  CHECK(version(shard, fields, {512, 1, 0}) == first);
  CHECK(version(shard, fields, {1024, 1, 0}) != first);
  CHECK(version(shard, fields, {512, 2, 0}) != first);
  CHECK(version(shard, fields, {512, 1, 1}) != first);
  CHECK(version(shard, Fields({"jpg;jpeg"}), {512, 1, 0}) != first);
  CHECK(version({"1.tar", {10240, 7}}, fields, {512, 1, 0}) != first);
  CHECK(version({"0.tar", {10241, 7}}, fields, {512, 1, 0}) != first);
  CHECK(version({"0.tar", {10240, 8}}, fields, {512, 1, 0}) != first);
}

TEST_CASE(
    "A shard index takes offsets and lengths up to its limits but not beyond",
    "[shards][shard_index]") {
  const FieldChoice fields = Fields({"jpg"});
  const Shard shard = {"huge.tar", {std::uint64_t{1} << 62, 1}};
  const ChosenMember last = {MemberRecord::kLargestOffset,
                             MemberRecord::kLargestLength, 0};
  auto index = Build(fields, {{shard}}, {Compressed(shard, fields, {last})});
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->MemberOf(0, 0).offset == last.offset);
  CHECK((*index)->MemberOf(0, 0).length == last.length);
  for (const ChosenMember& member :
       {ChosenMember{last.offset + kTarBlock, 1, 0},
        ChosenMember{512, last.length + 1, 0}}) {
    ShardSamples samples;
    const absl::Status status = Pack(shard, fields, "1", {{member}}, &samples);
    CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
    CHECK_THAT(status.message(), Contains("huge.tar"));
  }
}

TEST_CASE(
    "A shard index takes eight bytes for each field of a sample and little for "
    "keys",
    "[shards][shard_index]") {
  constexpr std::uint64_t kSamples = 100000;
  const FieldChoice fields = Fields({"jpg", "cls"});
  const Shard shard = {"0.tar", {kSamples * 2048, 1}};
  std::vector<ChosenMember> chosen;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    chosen.push_back({i * 2048, 512, 0});
    chosen.push_back({i * 2048 + 1024, 1, 0});
  }
  auto index = Build(fields, {{shard}}, {Compressed(shard, fields, chosen)});
  REQUIRE_THAT(index, IsOk());
  // Most keys differ from the previous key in one or two digits.
  CHECK((*index)->memory() <= kSamples * (16 + 4) + 1024);
}

TEST_CASE("A shard index refuses parts that do not fit",
          "[shards][shard_index]") {
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
  REQUIRE_THAT(ShardIndex::Create(Copy(Index()->parts())), IsOk());
  for (std::size_t i = 0; i < spoilers.size(); ++i) {
    ShardIndexParts parts = Copy(Index()->parts());
    spoilers[i](parts);
    CAPTURE(i);
    CHECK_THAT(ShardIndex::Create(std::move(parts)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
