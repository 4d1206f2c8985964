#include "server/dataset/shards/shard_scan.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/object_scan.h"

namespace forebay::dataset::shards {
namespace {

// Bytes of the members in a read, which take a header each.
std::uint64_t MemberBytes(std::uint64_t length) {
  return length / kTarBlock * (sizeof(TarMember) + base::HeapBytes(0)) * 2;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory) {
  std::map<std::size_t, ShardParser> parsers;
  std::vector<ShardSamples> samples;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(samples, shards.size()));
  samples.resize(shards.size());
  ObjectScan scan{.source = &source,
                  .root = root,
                  .objects = shards,
                  .objects_at_once = options.shards_at_once,
                  .purpose = options.purpose,
                  .stop = options.stop,
                  .begin = {},
                  .end = {},
                  .made = MemberBytes};
  scan.begin = [&](std::size_t shard) -> absl::StatusOr<ObjectParser*> {
    FOREBAY_ASSIGN_OR_RETURN(ShardParser parser,
                             ShardParser::Create(shards[shard], &fields,
                                                 options.read_sizes, &memory));
    return &parsers.emplace(shard, std::move(parser)).first->second;
  };
  scan.end = [&](std::size_t shard) {
    const auto parser = parsers.find(shard);
    samples[shard] = parser->second.TakeSamples();
    parsers.erase(parser);
    return absl::OkStatus();
  };
  FOREBAY_RETURN_IF_ERROR(ScanObjects(scan, memory));
  return BuildShardIndex(fields, shards, std::move(samples), memory);
}

}  // namespace forebay::dataset::shards
