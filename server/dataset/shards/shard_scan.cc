#include "server/dataset/shards/shard_scan.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/inflated/inflating_parser.h"
#include "server/dataset/inflated/point_file.h"
#include "server/dataset/object_scan.h"
#include "server/dataset/shards/tar_header.h"
#include "server/storage/inflated/packing.h"

namespace forebay::dataset::shards {
namespace {

using storage::inflated::Packing;

// Bytes of the members in a read, which take a header each.
std::uint64_t MemberBytes(std::uint64_t length) {
  return length / kTarBlock * (sizeof(TarMember) + base::HeapBytes(0)) * 2;
}

// Returns nothing for a tar archive that is not compressed by gzip or zstd.
std::optional<Packing> PackingOf(absl::Span<const std::uint8_t> start) {
  if (start.size() >= kTarBlock && ParseTarHeader(start.first(kTarBlock)).ok())
    return std::nullopt;
  const auto packing = storage::inflated::PackingOf(start);
  return packing == Packing::kZlib ? std::nullopt : packing;
}

// The parser of one shard, and what inflates the shard for it.
struct FileParser {
  absl::StatusOr<ObjectParser*> Begin(const Shard& shard,
                                      const FieldChoice* fields,
                                      const ReadSizes& read_sizes,
                                      inflated::PointFileWriter* points,
                                      base::WorkingMemory* memory) {
    FOREBAY_ASSIGN_OR_RETURN(
        inflating,
        inflated::InflatingParser::Create(
            shard,
            {.packing_of = PackingOf,
             .make = [=, this](std::uint64_t size, const ReadSizes& sizes)
                 -> absl::StatusOr<ObjectParser*> {
               Shard sized = shard;
               sized.version.size = size;
               FOREBAY_ASSIGN_OR_RETURN(
                   ShardParser parser,
                   ShardParser::Create(sized, fields, sizes, memory));
               return &samples.emplace(std::move(parser));
             }},
            read_sizes, points, memory));
    return inflating.get();
  }

  std::optional<ShardParser> samples;
  std::unique_ptr<inflated::InflatingParser> inflating;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory) {
  inflated::PointFileWriter points(options.points_path, &memory);
  std::vector<std::optional<storage::inflated::InflatedFile>> packed;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(packed, shards.size()));
  packed.resize(shards.size());
  std::map<std::size_t, FileParser> parsers;
  std::vector<ShardSamples> samples;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(samples, shards.size()));
  samples.resize(shards.size());
  // The first shard that has samples tells which fields samples have.
  std::size_t first = shards.size();
  absl::Status lacks;
  ObjectScan scan{.source = &source,
                  .root = root,
                  .objects = shards,
                  .objects_at_once = options.shards_at_once,
                  .uncached = true,
                  .stop = options.stop,
                  .begin = {},
                  .end = {},
                  .made = MemberBytes};
  scan.begin = [&](std::size_t shard) {
    return parsers[shard].Begin(shards[shard], &fields, options.read_sizes,
                                &points, &memory);
  };
  scan.end = [&](std::size_t shard) {
    const auto parser = parsers.find(shard);
    samples[shard] = parser->second.samples->TakeSamples();
    packed[shard] = parser->second.inflating->TakeInflated();
    if (shard < first && !samples[shard].members.empty()) {
      first = shard;
      lacks = parser->second.samples->CheckFields();
    }
    parsers.erase(parser);
    // No other shard needs to be read to refuse a misspelt field.
    return shard == 0 ? lacks : absl::OkStatus();
  };
  FOREBAY_RETURN_IF_ERROR(ScanObjects(scan, memory));
  FOREBAY_RETURN_IF_ERROR(lacks);
  FOREBAY_ASSIGN_OR_RETURN(inflated::PointsPtr found,
                           points.Finish(shards, std::move(packed)));
  return BuildShardIndex(fields, shards, std::move(samples), memory,
                         std::move(found));
}

}  // namespace forebay::dataset::shards
