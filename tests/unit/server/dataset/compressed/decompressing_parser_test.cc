#include "server/dataset/compressed/decompressing_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::dataset::compressed {
namespace {

using tests::HasCode;
using tests::IsOk;

using storage::compressed::AsBytes;
using storage::compressed::Compression;
using storage::compressed::Gzip;
using storage::compressed::ManyZstd;
using storage::compressed::Noise;
using storage::compressed::Prose;
using storage::compressed::Zstd;

// A parser that takes `seen` bytes of every `step` bytes, in pieces of at least
// `seen` bytes.
class Sampler final : public ObjectParser {
 public:
  Sampler(std::uint64_t size, std::uint64_t seen, std::uint64_t step,
          std::uint64_t read)
      : size_(size), seen_(seen), step_(step), read_(read) {}

  std::optional<ByteRange> next_read() const override {
    if (at_ >= size_) return std::nullopt;
    return ByteRange{at_, std::min(std::max(seen_, read_), size_ - at_)};
  }
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override {
    const std::uint64_t begin = at_;
    while (at_ - begin < bytes.size()) {
      const auto rest = bytes.subspan(at_ - begin);
      const std::uint64_t wanted = std::min(seen_, size_ - at_);
      if (rest.size() < wanted) break;
      text.append(rest.begin(),
                  rest.begin() + static_cast<std::ptrdiff_t>(wanted));
      at_ += step_;
    }
    return absl::OkStatus();
  }
  absl::Status EndAt(std::uint64_t size) override {
    size_ = size;
    return absl::OkStatus();
  }

  std::string text;

 private:
  std::uint64_t size_;
  const std::uint64_t seen_;
  const std::uint64_t step_;
  const std::uint64_t read_;
  std::uint64_t at_ = 0;
};

struct Parsed {
  absl::Status status;
  std::string text;
  std::optional<storage::compressed::DecompressedFile> file;
};

Parsed Parse(const std::string& content, const ReadSizes& sizes,
             std::uint64_t seen, std::uint64_t step, std::uint64_t read) {
  base::WorkingMemory memory(base::AmpleBudget(), "a file");
  PointFileWriter writer("", &memory);
  std::optional<Sampler> sampler;
  Parsed parsed;
  const auto parser = DecompressingParser::Create(
      {"a", {.size = content.size()}},
      {.compression_of = storage::compressed::CompressionOf,
       .make = [&](std::uint64_t size,
                   const ReadSizes&) -> absl::StatusOr<ObjectParser*> {
         return &sampler.emplace(size, seen, step, read);
       }},
      sizes, &writer, &memory);
  CHECK_THAT(parser, IsOk());
  while (const auto next = (*parser)->next_read()) {
    CHECK(next->length > 0);
    CHECK(next->offset + next->length <= content.size());
    parsed.status =
        (*parser)->Take(AsBytes(content).subspan(next->offset, next->length));
    if (!parsed.status.ok()) return parsed;
  }
  parsed.file = (*parser)->TakeDecompressed();
  parsed.text = sampler->text;
  return parsed;
}

TEST_CASE("The decompressing parser gives the inner parser what it wants",
          "[compressed][decompressing_parser]") {
  const std::string text = Prose(1'300'000, 1) + Noise(300'000, 2);
  struct Case {
    std::uint64_t seen;
    std::uint64_t step;
    std::uint64_t read;
  };
  for (const Case& wanted :
       {Case{1, 3, 512}, Case{12, 700, 512}, Case{12, 40, 512},
        Case{512, 512, 512}, Case{512, 100'000, 512},
        Case{300'000, 300'001, 512}, Case{1'600'000, 1'600'000, 512}}) {
    std::string expected;
    for (std::size_t at = 0; at < text.size(); at += wanted.step)
      expected += text.substr(at, wanted.seen);
    for (const ReadSizes& sizes :
         {ReadSizes{512, 512}, ReadSizes{4096, 1 << 18}}) {
      const Parsed plain =
          Parse(text, sizes, wanted.seen, wanted.step, wanted.read);
      CHECK(plain.text == expected);
      CHECK_FALSE(plain.file.has_value());
      const Parsed compressed =
          Parse(Gzip(text), sizes, wanted.seen, wanted.step, wanted.read);
      REQUIRE_THAT(compressed.status, IsOk());
      UNSCOPED_INFO(wanted.seen << ' ' << wanted.step);
      CHECK(compressed.text == expected);
      REQUIRE(compressed.file.has_value());
      CHECK(compressed.file->size == text.size());
      CHECK(compressed.file->compression == Compression::kGzip);
      CHECK(compressed.file->points.size() >= 2);
    }
  }
}

TEST_CASE("The decompressing parser's errors name the file and the byte",
          "[compressed][decompressing_parser]") {
  const std::string compressed = Gzip(Prose(100'000, 1));
  const Parsed parsed = Parse(compressed.substr(0, 5000), {}, 1, 1, 512);
  CHECK_THAT(parsed.status, HasCode(absl::StatusCode::kDataLoss));
  CHECK(parsed.status.message() ==
        "a: at byte 5000: is truncated in its compressed data");
}

TEST_CASE("The decompressing parser counts the memory of what it keeps",
          "[compressed][decompressing_parser]") {
  base::MemoryBudget budget(std::uint64_t{2} << 20);
  base::WorkingMemory memory(&budget, "a file");
  PointFileWriter writer("", &memory);
  std::optional<Sampler> sampler;
  const std::string compressed = Gzip(std::string(8 << 20, 'x'));
  const auto parser = DecompressingParser::Create(
      {"a", {.size = compressed.size()}},
      {.compression_of = storage::compressed::CompressionOf,
       .make = [&](std::uint64_t size,
                   const ReadSizes&) -> absl::StatusOr<ObjectParser*> {
         return &sampler.emplace(size, 8 << 20, 8 << 20, 512);
       }},
      {}, &writer, &memory);
  REQUIRE_THAT(parser, IsOk());
  absl::Status status;
  while (const auto next = (*parser)->next_read()) {
    status = (*parser)->Take(
        AsBytes(compressed).subspan(next->offset, next->length));
    if (!status.ok()) break;
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("The decompressing parser finds the same in zstd frames",
          "[compressed][decompressing_parser]") {
  const std::string text = Prose(10'000'000, 1) + Noise(2'000'000, 2);
  std::string expected;
  for (std::size_t at = 0; at < text.size(); at += 700)
    expected += text.substr(at, 12);
  for (const std::string& compressed :
       {ManyZstd(text, 900'000), Zstd(text),
        Zstd(text, {.window_log = 24, .tells_size = false})}) {
    const Parsed parsed = Parse(compressed, {4096, 1 << 18}, 12, 700, 512);
    REQUIRE_THAT(parsed.status, IsOk());
    CHECK(parsed.text == expected);
    REQUIRE(parsed.file.has_value());
    CHECK(parsed.file->compression == Compression::kZstd);
    CHECK(parsed.file->size == text.size());
    CHECK(parsed.file->points.size() >= 4);
  }
}

// Stored pieces of one file must not be read instead of another's.
TEST_CASE("The decompressing parser tells files apart of which it keeps pieces",
          "[compressed][decompressing_parser]") {
  std::string compressed =
      Zstd(Noise(3'000'000, 1), {.window_log = 24, .tells_size = false});
  // Removes the frame's content checksum (RFC 8878 3.1.1), which libraries do
  // not write.
  compressed[4] = static_cast<char>(compressed[4] & ~0x04);
  compressed.resize(compressed.size() - 4);
  const auto crc_of = [](const std::string& content) {
    const Parsed parsed = Parse(content, {4096, 1 << 18}, 12, 700, 512);
    CHECK_THAT(parsed.status, IsOk());
    return parsed.file.value_or(storage::compressed::DecompressedFile())
        .pieces_crc32c;
  };
  const std::uint32_t first = crc_of(compressed);
  compressed[1'500'000] = static_cast<char>(compressed[1'500'000] ^ 1);
  CHECK(crc_of(compressed) != first);
}

TEST_CASE("The decompressing parser says how to do without kept pieces",
          "[compressed][decompressing_parser]") {
  base::MemoryBudget budget(std::uint64_t{24} << 20);
  base::WorkingMemory memory(&budget, "a file");
  PointFileWriter writer("", &memory);
  std::optional<Sampler> sampler;
  const std::string compressed = Zstd(Noise(40'000'000, 1));
  const auto parser = DecompressingParser::Create(
      {"a", {.size = compressed.size()}},
      {.compression_of = storage::compressed::CompressionOf,
       .make = [&](std::uint64_t size,
                   const ReadSizes&) -> absl::StatusOr<ObjectParser*> {
         return &sampler.emplace(size, 1, 1 << 20, 512);
       }},
      {}, &writer, &memory);
  REQUIRE_THAT(parser, IsOk());
  absl::Status status;
  while (const auto next = (*parser)->next_read()) {
    status = (*parser)->Take(
        AsBytes(compressed).subspan(next->offset, next->length));
    if (!status.ok()) break;
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CAPTURE(status);
  CHECK(std::string(status.message())
            .starts_with("a: has a long zstd frame, and what that "
                         "decompresses to could not be kept; "
                         "pzstd makes short ones: "));
}

}  // namespace
}  // namespace forebay::dataset::compressed
