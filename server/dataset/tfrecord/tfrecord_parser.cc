// The parser steps from frame to frame: the header of a frame tells the
// record's length, and so where the next frame begins. ReadLength decides
// whether the records in between are read or skipped. If `measured_` is set,
// each record is read and measured.
//
// The size of a compressed file is unknown until its end. EndAt then checks the
// last record.
#include "server/dataset/tfrecord/tfrecord_parser.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/tfrecord/framing.h"

namespace forebay::dataset::tfrecord {
std::optional<ByteRange> TfrecordParser::wanted() const {
  if (at_ == size()) return std::nullopt;
  if (open_ > 0) return ByteRange{at_, open_};
  return ByteRange{at_, std::min(kHeaderBytes, size() - at_)};
}

std::optional<ByteRange> TfrecordParser::next_read() const {
  const auto next = wanted();
  if (!next.has_value()) return std::nullopt;
  return read_length_.For(*next, size());
}

absl::Status TfrecordParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  auto next = wanted();
  while (next.has_value() && next->offset <= read->offset + bytes.size() &&
         next->length <= read->offset + bytes.size() - next->offset) {
    absl::Status status =
        Parse(bytes.subspan(next->offset - read->offset, next->length));
    if (absl::IsResourceExhausted(status)) return status;
    if (!status.ok()) {
      return base::Annotate(status,
                            absl::StrCat(file_.name, ": at byte ", at_));
    }
    next = wanted();
  }
  if (next.has_value()) read_length_.Adapt(*read, *next);
  return absl::OkStatus();
}

absl::Status TfrecordParser::EndAt(std::uint64_t size) {
  file_.version.size = size;
  // Frames were accepted while the size was unknown, so the last frame may end
  // beyond `size`.
  if (at_ > size) {
    return absl::DataLossError(absl::StrCat(
        file_.name, ": is truncated: its last record reaches to byte ", at_,
        ", but there are only ", size));
  }
  if (open_ > size - at_) {
    return absl::DataLossError(absl::StrCat(
        file_.name, ": at byte ", at_, ": is truncated: a record has ",
        open_ - kFrameBytes, " bytes, which are not all there"));
  }
  return absl::OkStatus();
}

absl::Status TfrecordParser::Parse(absl::Span<const std::uint8_t> bytes) {
  if (open_ == 0) return ParseHeader(bytes);
  // A damaged record does not fail the scan: reading it will report the error.
  if (const auto payload = PayloadOf(bytes); payload.ok())
    measured_->Measure(*payload, &records_.bounds);
  open_ = 0;
  return Add(bytes.size());
}

absl::Status TfrecordParser::ParseHeader(
    absl::Span<const std::uint8_t> header) {
  const std::uint64_t left = size() - at_;
  if (left < kFrameBytes) {
    return absl::DataLossError(absl::StrCat(
        "is truncated: ", left, " bytes are left, which are not a record"));
  }
  const auto length = LengthOf(header);
  if (!length.ok()) return length.status();
  if (*length > left - kFrameBytes) {
    return absl::DataLossError(absl::StrCat("is truncated: a record has ",
                                            *length, " bytes, of which ",
                                            left - kFrameBytes, " are there"));
  }
  if (measured_ == nullptr) return Add(*length + kFrameBytes);
  open_ = *length + kFrameBytes;
  return absl::OkStatus();
}

absl::Status TfrecordParser::Add(std::uint64_t frame_bytes) {
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, 1));
  at_ += frame_bytes;
  records_.ends.push_back(at_);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::tfrecord
