#include "server/dataset/array_record/footer_finder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/array_record/blocks.h"

namespace forebay::dataset::array_record {

absl::StatusOr<FooterFinder> FooterFinder::Create(std::uint64_t size,
                                                  std::uint64_t read_bytes,
                                                  base::WorkingMemory* memory) {
  if (size > 0 && size % kBlockBytes == 0)
    return FooterFinder(size, read_bytes, memory);
  return absl::DataLossError(
      absl::StrCat("is not an ArrayRecord file, or truncated: it has ", size,
                   " bytes, but such files have blocks of ", kBlockBytes));
}

FooterFinder::FooterFinder(std::uint64_t size, std::uint64_t read_bytes,
                           base::WorkingMemory* memory)
    : size_(size), memory_(memory) {
  // The read has whole blocks. Its last one holds the postscript, and the
  // others may hold the footer.
  const std::uint64_t blocks =
      std::max(read_bytes / kBlockBytes, std::uint64_t{1});
  const std::uint64_t length = std::min(size, blocks * kBlockBytes);
  wanted_ = ByteRange{size - length, length};
}

absl::Status FooterFinder::Parse(absl::Span<const std::uint8_t> bytes) {
  FOREBAY_CHECK(wanted_.has_value() && bytes.size() == wanted_->length);
  const ByteRange seen = *wanted_;
  wanted_ = std::nullopt;
  if (footer_offset_ > 0) return ParseFooter(bytes);
  FOREBAY_ASSIGN_OR_RETURN(footer_offset_,
                           FooterOffset(size_, bytes.last(kBlockBytes)));
  if (footer_offset_ < seen.offset) {
    wanted_ = ByteRange{footer_offset_, size_ - kBlockBytes - footer_offset_};
    return absl::OkStatus();
  }
  bytes.remove_prefix(footer_offset_ - seen.offset);
  bytes.remove_suffix(kBlockBytes);
  return ParseFooter(bytes);
}

absl::Status FooterFinder::ParseFooter(absl::Span<const std::uint8_t> bytes) {
  auto footer = Footer::Read(footer_offset_, bytes, memory_);
  if (footer.ok()) {
    footer_.emplace(*std::move(footer));
    return absl::OkStatus();
  }
  if (absl::IsResourceExhausted(footer.status())) return footer.status();
  return base::Annotate(footer.status(),
                        absl::StrCat("at byte ", footer_offset_));
}

}  // namespace forebay::dataset::array_record
