#include "server/dataset/array_record/chunk.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"
#include "tests/unit/server/dataset/array_record/made_file.h"

namespace forebay::dataset::array_record {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMost = 1 << 20;
constexpr std::uint64_t kSignatureBytes = 64;

// Reads a chunk: its records, or its error.
class ReadChunk {
 public:
  ReadChunk(std::uint64_t offset, std::string_view bytes,
            std::uint64_t most = kMost) {
    auto chunk = Chunk::Read(offset, AsBytes(bytes), most,
                             [this](std::uint64_t length)
                                 -> absl::StatusOr<absl::Span<std::uint8_t>> {
                               EXPECT_EQ(room_, 0);
                               room_ = length;
                               if (length > 16 * kMost)
                                 return absl::ResourceExhaustedError("full");
                               return made_.Add(length);
                             });
    status_ = chunk.status();
    while (chunk.ok() && chunk->left() > 0)
      records_.emplace_back(AsText(chunk->Next()));
  }

  const std::vector<std::string>& records() const { return records_; }
  std::string error() const { return std::string(status_.message()); }
  absl::StatusCode code() const { return status_.code(); }
  std::uint64_t room() const { return room_; }

 private:
  MadeValues made_;
  std::uint64_t room_ = 0;
  absl::Status status_;
  std::vector<std::string> records_;
};

// A file that has this chunk behind its signature.
ReadChunk Made(const MadeChunk& chunk, std::uint64_t most = kMost) {
  const std::string file = FileOf({chunk});
  return {kSignatureBytes, std::string_view(file).substr(kSignatureBytes),
          most};
}

TEST(ChunkTest, HasRecordsInPlaceIfNothingLiesBetween) {
  const ReadChunk chunk = Made(ChunkOf({"", "abc", "", "d"}));
  EXPECT_THAT(chunk.records(), ElementsAre("", "abc", "", "d"));
  EXPECT_EQ(chunk.room(), 0);
  EXPECT_THAT(Made(ChunkOf({""})).records(), ElementsAre(""));
}

TEST(ChunkTest, JoinsWhatABlocksHeaderInterrupts) {
  const std::string first(60'000, 'a');
  const std::string second(200'000, 'b');
  const ReadChunk chunk = Made(ChunkOf({first, second, "c"}));
  EXPECT_EQ(chunk.records(), (std::vector<std::string>{first, second, "c"}));
  EXPECT_EQ(chunk.room(), 260'010);
}

TEST(ChunkTest, SkipsRecords) {
  const std::string file = FileOf({ChunkOf({"a", "bc", "", "d"})});
  const auto no_room = [](std::uint64_t) {
    return absl::InternalError("no room is needed");
  };
  for (std::uint64_t skipped = 0; skipped < 4; ++skipped) {
    auto chunk = Chunk::Read(
        kSignatureBytes, AsBytes(file).subspan(kSignatureBytes), 4, no_room);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    chunk->Skip(skipped);
    EXPECT_EQ(chunk->left(), 4 - skipped);
    EXPECT_EQ(AsText(chunk->Next()),
              (std::vector<std::string>{"a", "bc", "", "d"}[skipped]));
  }
}

TEST(ChunkTest, EveryByteThatCountsIsChecked) {
  const std::string file = FileOf({ChunkOf({"abc", "d"})});
  const std::uint64_t bytes = kChunkHeaderBytes + 8;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file.substr(kSignatureBytes);
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const ReadChunk chunk(kSignatureBytes, changed);
      EXPECT_EQ(chunk.code(), absl::StatusCode::kDataLoss) << i;
      EXPECT_THAT(chunk.error(), HasSubstr("hash")) << i;
    }
  }
}

TEST(ChunkTest, TellsOfBytesThatLack) {
  const std::string file = FileOf({ChunkOf({std::string(70'000, 'x')})});
  const std::string chunk = file.substr(kSignatureBytes, 70'100);
  for (const std::uint64_t length : {0, 1, 39, 40, 41, 65'000, 70'000}) {
    const ReadChunk read(kSignatureBytes, chunk.substr(0, length));
    EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(read.error(), HasSubstr("is truncated")) << length;
  }
}

TEST(ChunkTest, NumbersThatCannotBeAreRefused) {
  const auto error_of = [](void (*change)(MadeChunk*)) {
    MadeChunk chunk = ChunkOf({"abc", "d"});
    change(&chunk);
    const ReadChunk read = Made(chunk);
    EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(read.room(), 0);
    return read.error();
  };
  for (const std::uint64_t huge : {kMost, std::uint64_t{1} << 63, UINT64_MAX}) {
    MadeChunk chunk = ChunkOf({"abc", "d"});
    chunk.data_bytes = huge;
    EXPECT_THAT(Made(chunk).error(), HasSubstr("is truncated"));
    chunk = ChunkOf({"abc", "d"});
    chunk.decoded_bytes = huge + 1;
    EXPECT_EQ(Made(chunk).code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Made(chunk, UINT64_MAX).code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_THAT(error_of([](MadeChunk* c) { c->records = 1ull << 55; }),
              HasSubstr("cannot have"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->data_bytes = 0; }),
              HasSubstr("cannot have 2 records"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->records = 1; }),
              HasSubstr("lengths"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->records = 3; }),
              HasSubstr("lengths"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->decoded_bytes = 5; }),
              HasSubstr("lengths"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->decoded_bytes = 3; }),
              HasSubstr("lengths"));
  EXPECT_THAT(error_of([](MadeChunk* c) { c->type = 'p'; }),
              HasSubstr("no chunk of records"));
}

TEST(ChunkTest, LengthsThatDoNotFitAreRefused) {
  const std::string huge = Varint(std::uint64_t{1} << 63);
  for (const std::string& lengths :
       {std::string("\x04"), std::string("\x04\x01"), std::string("\x02\x01"),
        std::string("\x04\x00\x00", 3), std::string("\x84\x80", 2), huge + huge,
        Varint(UINT64_MAX) + Varint(5), std::string(11, '\xff')}) {
    const ReadChunk chunk = Made(ChunkOf(lengths, "abcd", 2));
    EXPECT_EQ(chunk.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(chunk.error(), HasSubstr("lengths"));
  }
  // More bytes of lengths than data.
  for (const std::uint64_t bytes : {100ul, 1ul << 63, UINT64_MAX}) {
    MadeChunk chunk = ChunkOf({"abc"});
    chunk.data = std::string(1, '\0') + Varint(bytes) + "\x03" + "abc";
    EXPECT_THAT(Made(chunk).error(), HasSubstr("lengths"));
  }
}

TEST(ChunkTest, WhatIsPackedIsNeverLongerThanTheHeaderSays) {
  for (const char codec : {'b', 's', 'z'}) {
    for (const std::uint64_t length : {5ul, 1000ul, 1ul << 63, UINT64_MAX}) {
      MadeChunk chunk{.records = 2, .decoded_bytes = 4, .data = {}};
      const std::string lengths = Varint(length);
      chunk.data =
          std::string(1, codec) + Varint(lengths.size()) + lengths + "packed";
      EXPECT_EQ(Made(chunk).code(), absl::StatusCode::kDataLoss);
      EXPECT_LE(Made(chunk).room(), 6);
    }
  }
}

TEST(ChunkTest, AsksForRoomBeforeItUnpacks) {
  MadeChunk chunk{.records = 1, .decoded_bytes = 32 * kMost, .data = "z"};
  const ReadChunk read = Made(chunk, 64 * kMost);
  EXPECT_EQ(read.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(read.room(), 32 * kMost + 4);
}

TEST(ChunkTest, RefusesWhatItDoesNotKnow) {
  MadeChunk chunk = ChunkOf({"abc"});
  chunk.type = 't';
  EXPECT_EQ(Made(chunk).code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Made(chunk).error(), HasSubstr("without the option"));
  chunk = ChunkOf({"abc"});
  chunk.data[0] = 'x';
  EXPECT_EQ(Made(chunk).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace forebay::dataset::array_record
