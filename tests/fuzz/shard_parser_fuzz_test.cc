// Fuzzes the parser of tar shards. The parser ends for any bytes, and requests
// only bytes of the shard. The fields that it finds lie within the shard,
// however many bytes it reads at a time.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_parser.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::WorkingMemory;
using forebay::dataset::ReadSizes;
using forebay::dataset::shards::BuildShardIndex;
using forebay::dataset::shards::FieldChoice;
using forebay::dataset::shards::Shard;
using forebay::dataset::shards::ShardParser;
using forebay::dataset::shards::ShardSamples;
using forebay::fuzz::Require;

struct Result {
  std::string error;
  ShardSamples samples;
};

Result Parse(const Shard& shard, const FieldChoice& fields,
             absl::Span<const std::uint8_t> bytes, const ReadSizes& sizes,
             WorkingMemory& memory) {
  auto parser = ShardParser::Create(shard, &fields, sizes, &memory);
  if (!parser.ok()) return {parser.status().ToString(), {}};
  while (const auto read = parser->next_read()) {
    Require(read->length > 0 && read->offset <= bytes.size() &&
            read->length <= bytes.size() - read->offset);
    const absl::Status status =
        parser->Take(bytes.subspan(read->offset, read->length));
    if (!status.ok()) return {status.ToString(), {}};
  }
  return {"", parser->TakeSamples()};
}

}  // namespace

// The input is a line of field names, separated by commas, and then the shard.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == text.npos) return 0;
  std::vector<std::string> names = {""};
  for (const char c : text.substr(0, line)) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  const auto fields = FieldChoice::Create(names);
  if (!fields.ok()) return 0;
  const absl::Span<const std::uint8_t> bytes(data + line + 1, size - line - 1);
  const Shard shard = {"a.tar", {.size = bytes.size(), .stamp = 1}};
  WorkingMemory memory(forebay::base::AmpleBudget(), "a shard");
  const Result little =
      Parse(shard, *fields, bytes, {.min = 512, .max = 512}, memory);
  Result much = Parse(shard, *fields, bytes, {}, memory);
  Require(little.error == much.error &&
          little.samples.keys.compressed() == much.samples.keys.compressed());
  if (!much.error.empty()) return 0;
  std::vector<ShardSamples> all;
  all.push_back(std::move(much.samples));
  const auto index = BuildShardIndex(*fields, {shard}, std::move(all), memory);
  if (!index.ok()) return 0;
  for (std::uint64_t id = 0; id < (*index)->size(); ++id) {
    Require((*index)->KeyOf(id).size() <= 255);
    for (std::size_t field = 0; field < fields->size(); ++field) {
      const auto member = (*index)->MemberOf(id, field);
      Require(member.offset <= bytes.size() &&
              member.length <= bytes.size() - member.offset);
    }
  }
  return 0;
}
