// Fuzzes a segment of the cache's second tier. The cache takes over the segment
// or removes it. Entries that the cache finds lie within the segment, and their
// bytes are what their headers say.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/base/crc32c.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_format.h"
#include "server/storage/buffer_pool.h"
#include "spdlog/spdlog.h"

namespace {

using forebay::base::Crc32c;
using forebay::cache::disk::EncodeSegmentHeader;
using forebay::cache::disk::FingerprintOf;
using forebay::cache::disk::kPageBytes;
using forebay::cache::disk::kRecordAlignment;
using forebay::cache::disk::kRecordHeaderBytes;
using forebay::cache::disk::PageBuffer;
using forebay::cache::disk::ParseRecordHeader;
using forebay::cache::disk::ReadRecord;
using forebay::cache::disk::RecordLocation;
using forebay::cache::disk::Recover;
using forebay::cache::disk::Recovered;
using forebay::cache::disk::RoundUp;
using forebay::cache::disk::SegmentName;
using forebay::cache::disk::Volume;
using forebay::storage::BufferPool;

constexpr std::uint64_t kSerial = 5;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A volume in memory that has one file.
class OneFile final : public Volume {
 public:
  explicit OneFile(std::vector<std::uint8_t> content)
      : content_(std::move(content)) {}

  const std::string& path() const override { return path_; }
  int List(std::vector<std::string>* names) override {
    names->push_back(SegmentName(kSerial));
    return 0;
  }
  int Create(const std::string&, std::uint64_t) override { return -EROFS; }
  // Returns a valid descriptor, which nobody uses.
  int Open(const std::string&) override { return dup(2); }
  int Remove(const std::string&) override { return 0; }
  std::int64_t Size(int) override {
    return static_cast<std::int64_t>(content_.size());
  }
  ssize_t Pread(int, void* buffer, std::size_t length, off_t offset) override {
    Require(offset >= 0 && offset + length <= content_.size());
    std::memcpy(buffer, content_.data() + offset, length);
    return static_cast<ssize_t>(length);
  }
  ssize_t Pwrite(int, const void*, std::size_t, off_t) override {
    return -EROFS;
  }
  int Sync(int) override { return 0; }

 private:
  const std::string path_ = "memory";
  const std::vector<std::uint8_t> content_;
};

template <typename Number>
Number At(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, &bytes[offset], sizeof(number));
  return number;
}

template <typename Number>
void Set(std::vector<std::uint8_t>& bytes, std::size_t offset, Number number) {
  std::memcpy(&bytes[offset], &number, sizeof(number));
}

// Corrects checksums and fingerprints, so that the cache reads the bytes after
// them. They are those of the footer, and of everything that looks like a
// record's header. record.cc and segment_format.cc have the layouts.
void Repair(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = kPageBytes; at + kRecordHeaderBytes <= bytes.size();
       at += kRecordAlignment) {
    if (At<std::uint32_t>(bytes, at) != 0x43524246) continue;
    const std::size_t root = At<std::uint16_t>(bytes, at + 56);
    const std::size_t object = At<std::uint16_t>(bytes, at + 58);
    if (root + object > bytes.size() - at - kRecordHeaderBytes) continue;
    const auto* names =
        reinterpret_cast<const char*>(&bytes[at]) + kRecordHeaderBytes;
    Set(bytes, at + 8, kSerial);
    Set(bytes, at + 16,
        FingerprintOf({.root = {names, root},
                       .object = {names + root, object},
                       .version = {At<std::uint64_t>(bytes, at + 24),
                                   At<std::int64_t>(bytes, at + 32)},
                       .offset = At<std::uint64_t>(bytes, at + 40),
                       .length = At<std::uint32_t>(bytes, at + 48)}));
    Set(bytes, at + 4, std::uint32_t{0});
    Set(bytes, at + 4,
        Crc32c(absl::MakeConstSpan(bytes).subspan(
            at, kRecordHeaderBytes + root + object)));
  }
  const std::size_t tail = bytes.size() - 24;
  const std::uint64_t listed =
      std::uint64_t{At<std::uint32_t>(bytes, tail + 16)} *
      sizeof(RecordLocation);
  if (listed > tail) return;
  Set(bytes, tail + 20, std::uint32_t{0});
  Set(bytes, tail + 20,
      Crc32c(absl::MakeConstSpan(bytes).subspan(tail - listed, listed + 24)));
}

void RecoverSegment(const std::vector<std::uint8_t>& bytes) {
  static const auto pool = std::make_shared<BufferPool>(1 << 20);
  static const PageBuffer scratch(64 << 10);
  OneFile volume(bytes);
  const auto recovered = Recover(volume, std::uint64_t{1} << 30);
  Require(recovered.ok() && recovered->size() <= 1);
  for (const Recovered& segment : *recovered) {
    Require(segment.file->serial == kSerial && !segment.locations.empty());
    Require(segment.sealed || (segment.end % kPageBytes == 0 &&
                               segment.end <= segment.file->bytes));
    for (const RecordLocation& location : segment.locations) {
      Require(location.offset >= kPageBytes &&
              std::uint64_t{location.offset} + location.bytes <= bytes.size());
      const auto header = ParseRecordHeader(
          absl::MakeConstSpan(bytes).subspan(location.offset, location.bytes),
          kSerial);
      if (!header.has_value()) continue;
      const auto read = ReadRecord(volume, {segment.file, location},
                                   header->key, scratch, *pool);
      if (!read.ok()) continue;
      Require(read->size() == header->key.length &&
              std::memcmp(read->data(), &bytes[location.offset + header->bytes],
                          read->size()) == 0 &&
              Crc32c(read->span()) == header->data_crc);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  std::vector<std::uint8_t> bytes(
      kPageBytes + RoundUp(std::max<std::size_t>(size, 1), kPageBytes));
  const std::string header = EncodeSegmentHeader(kSerial, bytes.size());
  std::memcpy(bytes.data(), header.data(), header.size());
  if (size > 0) std::memcpy(&bytes[kPageBytes], data, size);
  RecoverSegment(bytes);
  Repair(bytes);
  RecoverSegment(bytes);
  return 0;
}
