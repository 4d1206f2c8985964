#include "server/dataset/shards/sample_grouping.h"

#include <zlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/shards/tar_walk.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Groups the archive's members. Appends to `samples` even if grouping ends in
// an error.
absl::Status Group(const std::string& name, const std::string& archive,
                   std::vector<GroupedSample>* samples) {
  FOREBAY_ASSIGN_OR_RETURN(TarWalk walk, TarWalk::Create(name, archive.size()));
  std::vector<TarMember> members;
  FOREBAY_RETURN_IF_ERROR(walk.Parse(0, AsBytes(archive), &members));
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
  CHECK(sample.key == expected.key);
  CAPTURE(sample.key);
  REQUIRE(sample.parts.size() == expected.fields.size());
  for (std::size_t i = 0; i < sample.parts.size(); ++i) {
    const SamplePart& part = sample.parts[i];
    CHECK(part.extension == expected.fields[i].extension);
    CHECK(part.offset == expected.fields[i].offset);
    REQUIRE(part.length == expected.fields[i].length);
    const auto bytes = AsBytes(archive).subspan(part.offset, part.length);
    CHECK(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())) ==
          expected.fields[i].crc);
  }
}

TEST_CASE("The sample grouping groups members as webdataset does",
          "[shards][sample_grouping]") {
  for (const GoldenShard& shard : GoldenShards()) {
    const std::string archive = GoldenFile(shard.name);
    std::vector<GroupedSample> samples;
    const absl::Status status = Group(shard.name, archive, &samples);
    CAPTURE(shard.name);
    REQUIRE(samples.size() == shard.samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ExpectSample(samples[i], shard.samples[i], archive);
    }
    if (shard.duplicate_key.empty()) {
      CHECK_THAT(status, IsOk());
      continue;
    }
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(),
               Contains(shard.name + ": sample " + shard.duplicate_key));
  }
}

TEST_CASE("The sample grouping leaves out bad samples",
          "[shards][sample_grouping]") {
  std::vector<GroupedSample> samples;
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  SampleGrouping grouping("shard", &memory);
  for (const TarMember& member :
       {TarMember{"1.jpg", 512, 1}, TarMember{"1.__bad__", 1536, 1},
        TarMember{"2.jpg", 2560, 1}}) {
    REQUIRE_THAT(grouping.Add(member, &samples), IsOk());
  }
  grouping.Finish(&samples);
  REQUIRE(samples.size() == 1u);
  CHECK(samples[0].key == "2");
}

TEST_CASE("The sample grouping accepts many members of one sample",
          "[shards][sample_grouping]") {
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  SampleGrouping grouping("a.tar", &memory);
  std::vector<GroupedSample> samples;
  const auto add = [&](int sample, int extension) {
    TarMember member;
    member.name = absl::StrCat(sample, ".", extension);
    return grouping.Add(member, &samples);
  };
  for (int sample = 0; sample < 2; ++sample) {
    for (int i = 0; i < 1000; ++i) {
      CAPTURE(i);
      REQUIRE_THAT(add(sample, i), IsOk());
    }
  }
  for (const int i : {0, 31, 32, 999})
    CHECK_THAT(add(1, i).message(), Contains("two members"));
  grouping.Finish(&samples);
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].parts.size() == 1000);
  CHECK(samples[1].parts.size() == 1000);
}

}  // namespace
}  // namespace forebay::dataset::shards
