// Fuzzes the file that stores an index of shards. Reading the file gives an
// error or a usable index.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"
#include "server/dataset/shards/shard_index_format.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::shards::ChosenMember;
using forebay::dataset::shards::DecodeShardIndex;
using forebay::dataset::shards::EncodeShardIndex;
using forebay::dataset::shards::Shard;
using forebay::dataset::shards::ShardIndex;
using forebay::fuzz::AreEqual;
using forebay::fuzz::ReadAsTheyAreAndSealed;
using forebay::fuzz::Require;

void Read(absl::Span<const std::uint8_t> bytes) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  forebay::dataset::IndexFileReader file(bytes);
  const auto decoded = DecodeShardIndex(file, memory);
  if (!decoded.ok()) return;
  const ShardIndex& index = **decoded;
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < index.size(); ++id) {
    const Shard shard = index.ShardAt(index.ShardOf(id));
    Require(!shard.name.empty() && shard.name.find('\0') == std::string::npos);
    for (std::size_t field = 0; field < index.fields().size(); ++field) {
      const ChosenMember member = index.MemberOf(id, field);
      Require(member.offset <= shard.version.size &&
              member.length <= shard.version.size - member.offset);
      Require(member.alternative < index.fields().alternatives(field).size());
    }
    Require(index.KeyOf(id).size() <= 255);
    largest = std::max(largest, index.ExtentOf(id).length);
  }
  Require(largest == index.largest_extent());
  const std::string again = EncodeShardIndex(index);
  Require(AreEqual(bytes, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ReadAsTheyAreAndSealed({data, size}, Read);
  return 0;
}
