#include "server/dataset/array_record/chunk.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kMost = 1 << 20;
constexpr std::uint64_t kSignatureBytes = 64;

// Reads a chunk, and stores its records or the error.
class ReadChunk {
 public:
  ReadChunk(std::uint64_t offset, std::string_view bytes,
            std::uint64_t most = kMost) {
    auto chunk = Chunk::Read(offset, AsBytes(bytes), most,
                             [this](std::uint64_t length)
                                 -> absl::StatusOr<absl::Span<std::uint8_t>> {
                               CHECK(room_ == 0);
                               room_ = length;
                               if (length > 16 * kMost)
                                 return absl::ResourceExhaustedError("full");
                               return buffers_.Add(length);
                             });
    status_ = chunk.status();
    while (chunk.ok() && chunk->left() > 0)
      records_.emplace_back(AsText(chunk->Next()));
  }

  const std::vector<std::string>& records() const { return records_; }
  std::string error() const { return std::string(status_.message()); }
  const absl::Status& status() const { return status_; }
  std::uint64_t room() const { return room_; }

 private:
  ValueBuffers buffers_;
  std::uint64_t room_ = 0;
  absl::Status status_;
  std::vector<std::string> records_;
};

// Reads the chunk from a file in which it follows the signature.
ReadChunk Made(const RawChunk& chunk, std::uint64_t most = kMost) {
  const std::string file = FileOf({chunk});
  return {kSignatureBytes, std::string_view(file).substr(kSignatureBytes),
          most};
}

TEST_CASE(
    "An ArrayRecord chunk has its records in place if nothing lies between",
    "[array_record][chunk]") {
  const ReadChunk chunk = Made(ChunkOf({"", "abc", "", "d"}));
  CHECK_THAT(chunk.records(), ElementsAre("", "abc", "", "d"));
  CHECK(chunk.room() == 0);
  CHECK_THAT(Made(ChunkOf({""})).records(), ElementsAre(""));
}

TEST_CASE("An ArrayRecord chunk joins what a block's header interrupts",
          "[array_record][chunk]") {
  const std::string first(60'000, 'a');
  const std::string second(200'000, 'b');
  const ReadChunk chunk = Made(ChunkOf({first, second, "c"}));
  CHECK(chunk.records() == std::vector<std::string>{first, second, "c"});
  CHECK(chunk.room() == 260'010);
}

TEST_CASE("An ArrayRecord chunk skips as many records as it is told",
          "[array_record][chunk]") {
  const std::string file = FileOf({ChunkOf({"a", "bc", "", "d"})});
  const auto no_room = [](std::uint64_t) {
    return absl::InternalError("no room is needed");
  };
  for (std::uint64_t skipped = 0; skipped < 4; ++skipped) {
    auto chunk = Chunk::Read(
        kSignatureBytes, AsBytes(file).subspan(kSignatureBytes), 4, no_room);
    REQUIRE_THAT(chunk, IsOk());
    chunk->Skip(skipped);
    CHECK(chunk->left() == 4 - skipped);
    CHECK(AsText(chunk->Next()) ==
          std::vector<std::string>{"a", "bc", "", "d"}[skipped]);
  }
}

TEST_CASE("Every byte of an ArrayRecord chunk that counts is checked",
          "[array_record][chunk]") {
  const std::string file = FileOf({ChunkOf({"abc", "d"})});
  const std::uint64_t bytes = kChunkHeaderBytes + 8;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file.substr(kSignatureBytes);
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const ReadChunk chunk(kSignatureBytes, changed);
      CAPTURE(i);
      CHECK_THAT(chunk, HasCode(absl::StatusCode::kDataLoss));
      CHECK_THAT(chunk.error(), Contains("hash"));
    }
  }
}

TEST_CASE("An ArrayRecord chunk tells of bytes that are missing",
          "[array_record][chunk]") {
  const std::string file = FileOf({ChunkOf({std::string(70'000, 'x')})});
  const std::string chunk = file.substr(kSignatureBytes, 70'100);
  for (const std::uint64_t length : {0, 1, 39, 40, 41, 65'000, 70'000}) {
    const ReadChunk read(kSignatureBytes, chunk.substr(0, length));
    CHECK_THAT(read, HasCode(absl::StatusCode::kDataLoss));
    CAPTURE(length);
    CHECK_THAT(read.error(), Contains("is truncated"));
  }
}

TEST_CASE("An ArrayRecord chunk with impossible numbers is refused",
          "[array_record][chunk]") {
  const auto error_of = [](void (*change)(RawChunk*)) {
    RawChunk chunk = ChunkOf({"abc", "d"});
    change(&chunk);
    const ReadChunk read = Made(chunk);
    CHECK_THAT(read, HasCode(absl::StatusCode::kDataLoss));
    CHECK(read.room() == 0);
    return read.error();
  };
  for (const std::uint64_t huge : {kMost, std::uint64_t{1} << 63, UINT64_MAX}) {
    RawChunk chunk = ChunkOf({"abc", "d"});
    chunk.data_bytes = huge;
    CHECK_THAT(Made(chunk).error(), Contains("is truncated"));
    chunk = ChunkOf({"abc", "d"});
    chunk.decoded_bytes = huge + 1;
    CHECK_THAT(Made(chunk), HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(Made(chunk, UINT64_MAX), HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_THAT(error_of([](RawChunk* c) { c->records = 1ull << 55; }),
             Contains("cannot have"));
  CHECK_THAT(error_of([](RawChunk* c) { c->data_bytes = 0; }),
             Contains("cannot have 2 records"));
  CHECK_THAT(error_of([](RawChunk* c) { c->records = 1; }),
             Contains("lengths"));
  CHECK_THAT(error_of([](RawChunk* c) { c->records = 3; }),
             Contains("lengths"));
  CHECK_THAT(error_of([](RawChunk* c) { c->decoded_bytes = 5; }),
             Contains("lengths"));
  CHECK_THAT(error_of([](RawChunk* c) { c->decoded_bytes = 3; }),
             Contains("lengths"));
  CHECK_THAT(error_of([](RawChunk* c) { c->type = 'p'; }),
             Contains("no chunk of records"));
}

TEST_CASE("An ArrayRecord chunk with lengths that do not fit is refused",
          "[array_record][chunk]") {
  const std::string huge = Varint(std::uint64_t{1} << 63);
  for (const std::string& lengths :
       {std::string("\x04"), std::string("\x04\x01"), std::string("\x02\x01"),
        std::string("\x04\x00\x00", 3), std::string("\x84\x80", 2), huge + huge,
        Varint(UINT64_MAX) + Varint(5), std::string(11, '\xff')}) {
    const ReadChunk chunk = Made(ChunkOf(lengths, "abcd", 2));
    CHECK_THAT(chunk, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(chunk.error(), Contains("lengths"));
  }
  // The list of lengths claims more bytes than the chunk has.
  for (const std::uint64_t bytes : {100ul, 1ul << 63, UINT64_MAX}) {
    RawChunk chunk = ChunkOf({"abc"});
    chunk.data = std::string(1, '\0') + Varint(bytes) + "\x03" + "abc";
    CHECK_THAT(Made(chunk).error(), Contains("lengths"));
  }
}

TEST_CASE(
    "Compressed data of an ArrayRecord chunk are never longer than its header "
    "says",
    "[array_record][chunk]") {
  for (const char codec : {'b', 's', 'z'}) {
    for (const std::uint64_t length : {5ul, 1000ul, 1ul << 63, UINT64_MAX}) {
      RawChunk chunk{.records = 2, .decoded_bytes = 4, .data = {}};
      const std::string lengths = Varint(length);
      chunk.data = std::string(1, codec) + Varint(lengths.size()) + lengths +
                   "compressed";
      CHECK_THAT(Made(chunk), HasCode(absl::StatusCode::kDataLoss));
      CHECK(Made(chunk).room() <= 6);
    }
  }
}

TEST_CASE("An ArrayRecord chunk asks for room before it decompresses",
          "[array_record][chunk]") {
  RawChunk chunk{.records = 1, .decoded_bytes = 32 * kMost, .data = "z"};
  const ReadChunk read = Made(chunk, 64 * kMost);
  CHECK_THAT(read, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(read.room() == 32 * kMost + 4);
}

TEST_CASE("An ArrayRecord chunk refuses kinds and codecs that it does not know",
          "[array_record][chunk]") {
  RawChunk chunk = ChunkOf({"abc"});
  chunk.type = 't';
  CHECK_THAT(Made(chunk), HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(Made(chunk).error(), Contains("without the option"));
  chunk = ChunkOf({"abc"});
  chunk.data[0] = 'x';
  CHECK_THAT(Made(chunk), HasCode(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace forebay::dataset::array_record
