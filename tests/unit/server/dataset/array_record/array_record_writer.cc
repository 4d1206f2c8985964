#include "tests/unit/server/dataset/array_record/array_record_writer.h"

#include <highwayhash/c_bindings.h>

#include <algorithm>

namespace forebay::dataset::array_record {
namespace {

constexpr std::uint64_t kBlock = 1 << 16;
constexpr std::uint64_t kBlockHeader = 24;

std::string Fixed(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string Hash(std::string_view bytes) {
  alignas(32) constexpr HHKey kKey = {0x2f696c6567656952, 0x0a7364726f636572,
                                      0x2f696c6567656952, 0x0a7364726f636572};
  return Fixed(HighwayHash64(kKey, bytes.data(), bytes.size()));
}

}  // namespace

std::string Varint(std::uint64_t number) {
  std::string bytes;
  for (; number > 0x7f; number >>= 7)
    bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}

std::string Number(std::uint32_t tag, std::uint64_t number) {
  return Varint(tag << 3) + Varint(number);
}

std::string Text(std::uint32_t tag, std::string_view text) {
  return Varint((tag << 3) | 2) + Varint(text.size()) + std::string(text);
}

RawChunk ChunkOf(const std::string& lengths, const std::string& records,
                 std::uint64_t count) {
  return {.records = count,
          .decoded_bytes = records.size(),
          .data = std::string(1, '\0') + Varint(lengths.size()) + lengths +
                  records};
}

RawChunk ChunkOf(const std::vector<std::string>& records) {
  std::string lengths;
  std::string all;
  for (const std::string& record : records) {
    lengths += Varint(record.size());
    all += record;
  }
  return ChunkOf(lengths, all, records.size());
}

FileWriter::FileWriter() { Add({.type = 's', .data = {}}); }

std::uint64_t FileWriter::Add(const RawChunk& chunk) {
  const std::uint64_t begin = bytes_.size();
  std::string header = Fixed(chunk.data_bytes.value_or(chunk.data.size())) +
                       Hash(chunk.data) + chunk.type +
                       Fixed(chunk.records).substr(0, 7) +
                       Fixed(chunk.decoded_bytes);
  Append(Hash(header) + header + chunk.data);
  PadTo(std::max<std::uint64_t>(bytes_.size(), begin + chunk.records % kBlock));
  const std::uint64_t in_block = bytes_.size() % kBlock;
  if (in_block > 0 && in_block <= kBlockHeader)
    PadTo(bytes_.size() - in_block + kBlockHeader + 1);
  return begin;
}

void FileWriter::AddListed(const RawChunk& chunk) {
  List({Add(chunk), chunk.decoded_bytes, chunk.records});
}

std::vector<std::string> FileWriter::Footer() const {
  std::uint64_t records = 0;
  std::vector<std::string> footer(1);
  for (const Listed& listed : listed_) {
    records += listed.records;
    footer.push_back(Number(1, listed.offset) +
                     Number(2, listed.decoded_bytes) +
                     Number(3, listed.records));
  }
  footer[0] = Text(1, Number(1, 1) + Number(2, listed_.size()) +
                          Number(3, records) + Text(4, "group_size:1"));
  return footer;
}

std::string FileWriter::End() { return EndWith(Footer()); }

std::string FileWriter::EndWith(const std::vector<std::string>& footer,
                                const std::optional<std::string>& postscript) {
  const std::uint64_t begin = Add(ChunkOf(footer));
  PadToBlock();
  const std::string copy =
      postscript.value_or(Number(1, begin) + Number(2, 0x71930e704fdae05e));
  Add(ChunkOf({copy, copy, copy}));
  PadToBlock();
  return bytes_;
}

void FileWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes_.size() % kBlock == 0) bytes_.append(kBlockHeader, 'h');
    const std::uint64_t length =
        std::min<std::uint64_t>(bytes.size(), kBlock - bytes_.size() % kBlock);
    bytes_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
}

void FileWriter::PadToBlock() {
  PadTo((bytes_.size() + kBlock - 1) / kBlock * kBlock);
}

std::string FileOf(const std::vector<RawChunk>& chunks) {
  FileWriter file;
  for (const RawChunk& chunk : chunks) file.AddListed(chunk);
  return file.End();
}

}  // namespace forebay::dataset::array_record
