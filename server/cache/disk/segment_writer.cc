#include "server/cache/disk/segment_writer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::cache::disk {
namespace {

absl::Span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

SegmentWriter::SegmentWriter(Volume* volume,
                             std::shared_ptr<const SegmentFile> file,
                             const PageBuffer* buffer,
                             std::vector<RecordLocation> locations,
                             std::uint64_t end)
    : volume_(volume),
      file_(std::move(file)),
      buffer_(buffer),
      locations_(std::move(locations)),
      locations_flushed_(locations_.size()),
      flushed_(end) {
  FOREBAY_CHECK(flushed_ % kPageBytes == 0 &&
                buffer_->span().size() % kPageBytes == 0);
  if (flushed_ > 0) return;
  const std::string header = EncodeSegmentHeader(file_->serial, file_->bytes);
  std::memcpy(buffer_->span().data(), header.data(), header.size());
  filled_ = header.size();
}

bool SegmentWriter::HasSpace(std::uint64_t record_bytes) const {
  // The end of the records is rounded up to a page, because a flush fills the
  // last page with zeros.
  const std::uint64_t records_end = RoundUp(end() + record_bytes, kPageBytes);
  return records_end + FooterBytes(locations_.size() + 1) <= file_->bytes;
}

bool SegmentWriter::HasSpace(std::uint64_t record_bytes,
                             std::uint64_t next_bytes) const {
  const std::uint64_t flushed = RoundUp(end() + record_bytes, kPageBytes);
  const std::uint64_t records_end = RoundUp(flushed + next_bytes, kPageBytes);
  return records_end + FooterBytes(locations_.size() + 2) <= file_->bytes;
}

absl::Status SegmentWriter::Append(const Key& key,
                                   absl::Span<const std::uint8_t> data) {
  const std::uint64_t bytes = RecordBytes(key);
  FOREBAY_CHECK(HasSpace(bytes));
  const RecordLocation location = {FingerprintOf(key),
                                   static_cast<std::uint32_t>(end()),
                                   static_cast<std::uint32_t>(bytes)};
  const std::string header = EncodeRecordHeader(key, file_->serial, data);
  constexpr std::uint8_t kZeros[kRecordAlignment] = {};
  FOREBAY_RETURN_IF_ERROR(Put(BytesOf(header)));
  FOREBAY_RETURN_IF_ERROR(Put(data));
  FOREBAY_RETURN_IF_ERROR(Put({kZeros, bytes - header.size() - data.size()}));
  locations_.push_back(location);
  return absl::OkStatus();
}

absl::Status SegmentWriter::Put(absl::Span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const absl::Span<std::uint8_t> space = buffer_->span().subspan(filled_);
    const std::size_t count = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), count);
    filled_ += count;
    bytes.remove_prefix(count);
    if (count == space.size()) FOREBAY_RETURN_IF_ERROR(WriteBuffer());
  }
  return absl::OkStatus();
}

absl::Status SegmentWriter::WriteBuffer() {
  FOREBAY_RETURN_IF_ERROR(
      WritePages(*volume_, *file_, buffer_->span().first(filled_), flushed_));
  flushed_ += filled_;
  filled_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const RecordLocation>> SegmentWriter::Flush() {
  // The next record begins on a new page. No page is written twice, so a torn
  // write does not damage earlier records.
  const std::size_t whole = RoundUp(filled_, kPageBytes);
  std::memset(buffer_->span().data() + filled_, 0, whole - filled_);
  filled_ = whole;
  FOREBAY_RETURN_IF_ERROR(WriteBuffer());
  const std::size_t first =
      std::exchange(locations_flushed_, locations_.size());
  return absl::MakeConstSpan(locations_).subspan(first);
}

absl::Status SegmentWriter::Seal() {
  FOREBAY_CHECK(filled_ == 0 && locations_flushed_ == locations_.size());
  const std::string footer = EncodeFooter(file_->serial, locations_);
  std::uint64_t offset = file_->bytes - footer.size();
  FOREBAY_CHECK(flushed_ <= offset);
  absl::Span<const std::uint8_t> rest = BytesOf(footer);
  while (!rest.empty()) {
    const std::size_t count = std::min(rest.size(), buffer_->span().size());
    std::memcpy(buffer_->span().data(), rest.data(), count);
    FOREBAY_RETURN_IF_ERROR(
        WritePages(*volume_, *file_, buffer_->span().first(count), offset));
    offset += count;
    rest.remove_prefix(count);
  }
  if (volume_->Sync(file_->fd.get()) < 0) {
    return absl::UnavailableError(SegmentName(file_->serial) +
                                  ": cannot be synced");
  }
  return absl::OkStatus();
}

}  // namespace forebay::cache::disk
