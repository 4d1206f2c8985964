// Fuzzes chunks of ArrayRecord files, with each codec. A chunk has as many
// records and bytes as its header says, or there is an error. Memory is
// requested once, for what the header says. The input's hashes are corrected
// first, since no mutation finds them.

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/array_record/chunk.h"
#include "server/dataset/dataset.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"

namespace {

using forebay::dataset::ValueBuffers;
using forebay::dataset::array_record::Chunk;
using forebay::dataset::array_record::FileOf;
using forebay::dataset::array_record::kChunkHeaderBytes;
using forebay::dataset::array_record::RawChunk;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

constexpr std::uint64_t kMost = 1 << 16;
constexpr std::uint64_t kSignatureBytes = 64;

absl::StatusOr<Chunk> Read(Bytes bytes, ValueBuffers* buffers,
                           std::uint64_t* room) {
  return Chunk::Read(kSignatureBytes, bytes, kMost, [&](std::uint64_t length) {
    Require(*room == 0 && length > 0);
    *room = length;
    return buffers->AddDecompressed(length);
  });
}

void ReadMended(const RawChunk& made_chunk) {
  const std::string file = FileOf({made_chunk});
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(file.data()),
                    file.size());
  ValueBuffers buffers;
  std::uint64_t room = 0;
  auto chunk = Read(bytes.subspan(kSignatureBytes), &buffers, &room);
  Require(room <= made_chunk.data.size() + made_chunk.decoded_bytes +
                      3 * made_chunk.records);
  if (!chunk.ok()) return;
  Require(chunk->left() == made_chunk.records);
  std::uint64_t decoded_bytes = 0;
  while (chunk->left() > 0) {
    const Bytes record = chunk->Next();
    Touch(record.data(), record.size());
    decoded_bytes += record.size();
  }
  Require(decoded_bytes == made_chunk.decoded_bytes);
}

}  // namespace

// The input is the number of records (u8), the number of their bytes (u16), and
// the chunk's data.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ValueBuffers buffers;
  std::uint64_t room = 0;
  if (const auto chunk = Read({data, size}, &buffers, &room); chunk.ok())
    Require(size >= kChunkHeaderBytes);
  if (size < 3) return 0;
  ReadMended({.records = data[0],
              .decoded_bytes = data[1] + std::uint64_t{256} * data[2],
              .data = {reinterpret_cast<const char*>(data + 3), size - 3}});
  return 0;
}
