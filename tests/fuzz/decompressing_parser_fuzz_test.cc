// Fuzzes the parsers of compressed files. A parser finds the same in a
// compressed file as in the file before compression, and refuses the same
// files.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/compressed/decompressing_parser.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard_parser.h"
#include "server/dataset/tfrecord/tfrecord_parser.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::AmpleBudget;
using forebay::base::WorkingMemory;
using forebay::dataset::ObjectParser;
using forebay::dataset::ReadSizes;
using forebay::dataset::compressed::DecompressingParser;
using forebay::dataset::compressed::InnerFormat;
using forebay::dataset::compressed::PointFileWriter;
using forebay::dataset::shards::FieldChoice;
using forebay::dataset::shards::MemberRecord;
using forebay::dataset::shards::ShardParser;
using forebay::dataset::tfrecord::TfrecordParser;
using forebay::fuzz::Require;
using forebay::storage::compressed::Compression;
using Bytes = absl::Span<const std::uint8_t>;

std::vector<std::uint8_t> Zlib(Bytes content, int level) {
  std::vector<std::uint8_t> compressed(compressBound(content.size()));
  uLongf length = compressed.size();
  Require(compress2(compressed.data(), &length, content.data(), content.size(),
                    level) == Z_OK);
  compressed.resize(length);
  return compressed;
}

absl::Status Run(ObjectParser& parser, Bytes file) {
  while (const auto next = parser.next_read()) {
    Require(next->length > 0 && next->offset <= file.size() &&
            next->length <= file.size() - next->offset);
    absl::Status status = parser.Take(file.subspan(next->offset, next->length));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Parses the file uncompressed, or compressed at `level` if that is set.
absl::Status Parse(Bytes content, const std::optional<int>& level,
                   WorkingMemory& memory, decltype(InnerFormat::make) make) {
  if (!level.has_value()) {
    const auto parser = make(content.size(), {});
    return parser.ok() ? Run(**parser, content) : parser.status();
  }
  const std::vector<std::uint8_t> compressed = Zlib(content, *level);
  PointFileWriter writer("", &memory);
  const auto parser = DecompressingParser::Create(
      {"file", {.size = compressed.size()}},
      {.compression_of = [](Bytes) { return Compression::kZlib; },
       .make = std::move(make)},
      {}, &writer, &memory);
  if (!parser.ok()) return parser.status();
  absl::Status status = Run(**parser, compressed);
  if (status.ok())
    Require((*parser)->TakeDecompressed()->size == content.size());
  return status;
}

std::vector<std::uint64_t> EndsOf(Bytes content, std::optional<int> level,
                                  bool* ok) {
  WorkingMemory memory(AmpleBudget(), "records");
  std::optional<TfrecordParser> parser;
  *ok = Parse(content, level, memory,
              [&](std::uint64_t size,
                  const ReadSizes& sizes) -> absl::StatusOr<ObjectParser*> {
                return &parser.emplace(
                    forebay::storage::ListedObject{"file", {.size = size}},
                    sizes, nullptr, &memory);
              })
            .ok();
  if (!*ok) return {};
  return parser->TakeRecords().ends;
}

// Returns the members, and the values that compressed members decompress to.
std::pair<std::vector<MemberRecord>, std::vector<std::uint32_t>> MembersOf(
    Bytes content, std::optional<int> level, bool* ok) {
  WorkingMemory memory(AmpleBudget(), "members");
  const auto fields = FieldChoice::Create({"cls;cls.gz"});
  Require(fields.ok());
  std::optional<ShardParser> parser;
  *ok = Parse(content, level, memory,
              [&](std::uint64_t size,
                  const ReadSizes& sizes) -> absl::StatusOr<ObjectParser*> {
                auto made = ShardParser::Create({"file", {.size = size}},
                                                &*fields, sizes, &memory);
                if (!made.ok()) return made.status();
                return &parser.emplace(*std::move(made));
              })
            .ok();
  if (!*ok) return {};
  auto samples = parser->TakeSamples();
  return {std::move(samples.members), std::move(samples.decompressed)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 1) return 0;
  const int level = data[0] % 10;
  const Bytes content(data + 1, size - 1);
  bool plain_ok = false;
  bool compressed_ok = false;
  const auto ends = EndsOf(content, std::nullopt, &plain_ok);
  Require(EndsOf(content, level, &compressed_ok) == ends &&
          plain_ok == compressed_ok);
  const auto members = MembersOf(content, std::nullopt, &plain_ok);
  Require(MembersOf(content, level, &compressed_ok) == members &&
          plain_ok == compressed_ok);
  return 0;
}
