#include "server/dataset/shards/shard_scan.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/compressed/decompressing_parser.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/object_scan.h"
#include "server/dataset/shards/tar_header.h"
#include "server/storage/compressed/compression.h"

namespace forebay::dataset::shards {
namespace {

using storage::compressed::Compression;

// Returns an upper bound of the memory, in bytes, of the members in a read of
// `length` bytes. Each member has a header in the read. The capacity of the
// members' vector may be twice its size.
std::uint64_t MemberBytes(std::uint64_t length) {
  return length / kTarBlock * (sizeof(TarMember) + base::HeapBytes(0)) * 2;
}

// Returns how a shard that begins with `start` is compressed: by gzip or zstd.
// Returns nothing for a tar archive. zlib's format is not recognised: its
// header has only two bytes, by which a compressed archive cannot be told from
// a damaged one.
std::optional<Compression> CompressionOf(absl::Span<const std::uint8_t> start) {
  if (start.size() >= kTarBlock && ParseTarHeader(start.first(kTarBlock)).ok())
    return std::nullopt;
  const auto compression = storage::compressed::CompressionOf(start);
  return compression == Compression::kZlib ? std::nullopt : compression;
}

// The parser of one shard, and the parser in front of it, which decompresses
// the shard if necessary.
struct FileParser {
  absl::StatusOr<ObjectParser*> Begin(const Shard& shard,
                                      const FieldChoice* fields,
                                      const ReadSizes& read_sizes,
                                      compressed::PointFileWriter* points,
                                      base::WorkingMemory* memory) {
    FOREBAY_ASSIGN_OR_RETURN(
        decompressing,
        compressed::DecompressingParser::Create(
            shard,
            {.compression_of = CompressionOf,
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
    return decompressing.get();
  }

  std::optional<ShardParser> samples;
  std::unique_ptr<compressed::DecompressingParser> decompressing;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory) {
  compressed::PointFileWriter points(options.points_path, &memory);
  std::vector<std::optional<storage::compressed::DecompressedFile>> compressed;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(compressed, shards.size()));
  compressed.resize(shards.size());
  std::map<std::size_t, FileParser> parsers;
  std::vector<ShardSamples> samples;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(samples, shards.size()));
  samples.resize(shards.size());
  // Fields are checked only in the first shard that has samples.
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
                  .temporary_bytes = MemberBytes};
  scan.begin = [&](std::size_t shard) {
    return parsers[shard].Begin(shards[shard], &fields, options.read_sizes,
                                &points, &memory);
  };
  scan.end = [&](std::size_t shard) {
    const auto parser = parsers.find(shard);
    samples[shard] = parser->second.samples->TakeSamples();
    compressed[shard] = parser->second.decompressing->TakeDecompressed();
    if (shard < first && !samples[shard].members.empty()) {
      first = shard;
      lacks = parser->second.samples->CheckFields();
    }
    parsers.erase(parser);
    // If the first shard lacks a field, the name is probably misspelt. The scan
    // ends without reading other shards.
    return shard == 0 ? lacks : absl::OkStatus();
  };
  FOREBAY_RETURN_IF_ERROR(ScanObjects(scan, memory));
  FOREBAY_RETURN_IF_ERROR(lacks);
  FOREBAY_ASSIGN_OR_RETURN(compressed::PointsPtr found,
                           points.Finish(shards, std::move(compressed)));
  return BuildShardIndex(fields, shards, std::move(samples), memory,
                         std::move(found));
}

}  // namespace forebay::dataset::shards
