#include "server/pipeline/decode/tiff_file.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// libtiff sorts what it knows anew for each entry that it does not know.
constexpr std::uint64_t kMostEntries = 1000;

// Returns the number at an offset; 0 if it is beyond the file.
std::uint64_t NumberAt(Bytes file, std::uint64_t offset, std::size_t bytes,
                       bool little_endian) {
  if (offset > file.size() || file.size() - offset < bytes) return 0;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    number = number << 8 | file[offset + (little_endian ? bytes - 1 - i : i)];
  }
  return number;
}

std::uint64_t CountEntries(Bytes file) {
  if (file.size() < 8) return 0;
  const bool little_endian = file[0] == 'I';
  const bool big = NumberAt(file, 2, 2, little_endian) == 43;
  const std::uint64_t directory = big ? NumberAt(file, 8, 8, little_endian)
                                      : NumberAt(file, 4, 4, little_endian);
  return NumberAt(file, directory, big ? 8 : 2, little_endian);
}

struct OptionsFreer {
  void operator()(TIFFOpenOptions* options) const {
    TIFFOpenOptionsFree(options);
  }
};

}  // namespace

tmsize_t TiffFile::OnRead(thandle_t handle, void* out, tmsize_t size) {
  auto* const file = static_cast<TiffFile*>(handle);
  if (size <= 0 || file->position_ >= file->encoded_.size()) return 0;
  const std::uint64_t count = std::min<std::uint64_t>(
      {static_cast<std::uint64_t>(size),
       file->encoded_.size() - file->position_, file->may_read_});
  std::memcpy(out, file->encoded_.data() + file->position_, count);
  file->position_ += count;
  file->may_read_ -= count;
  return static_cast<tmsize_t>(count);
}

toff_t TiffFile::OnSeek(thandle_t handle, toff_t offset, int whence) {
  auto* const file = static_cast<TiffFile*>(handle);
  switch (whence) {
    case SEEK_CUR:
      file->position_ += offset;
      break;
    case SEEK_END:
      file->position_ = file->encoded_.size() + offset;
      break;
    default:
      file->position_ = offset;
  }
  return file->position_;
}

toff_t TiffFile::OnSize(thandle_t handle) {
  return static_cast<TiffFile*>(handle)->encoded_.size();
}

int TiffFile::OnError(TIFF*, void* file, const char*, const char* format,
                      va_list arguments) {
  auto* const self = static_cast<TiffFile*>(file);
  std::vsnprintf(self->message_, sizeof(self->message_), format, arguments);
  return 1;  // the usual handler, which prints, is not called
}

absl::Status TiffFile::FailureStatus() const {
  if (message_[0] == '\0') {
    return absl::DataLossError("is a corrupt TIFF image");
  }
  return absl::DataLossError(
      absl::StrCat("is a corrupt TIFF image: ", message_));
}

absl::Status TiffFile::Open(Bytes encoded, std::uint64_t most_bytes) {
  Close();
  encoded_ = encoded;
  position_ = 0;
  message_[0] = '\0';
  if (CountEntries(encoded) > kMostEntries) {
    return absl::DataLossError("is a TIFF image with more than 1000 tags");
  }
  const std::unique_ptr<TIFFOpenOptions, OptionsFreer> options(
      TIFFOpenOptionsAlloc());
  if (options == nullptr) return FailureStatus();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(),
                                      static_cast<tmsize_t>(most_bytes));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), OnError, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), OnWarning, this);
  // Entries may all mean the same bytes.
  constexpr std::uint64_t kSpareBytes = 64 << 10;
  may_read_ = 2 * std::uint64_t{encoded.size()} + kSpareBytes;
  // As Pillow has it ("C"): strips as they are in the file. "m": not mapped.
  tiff_.reset(TIFFClientOpenExt("", "rCm", this, OnRead, OnWrite, OnSeek,
                                OnClose, OnSize, nullptr, nullptr,
                                options.get()));
  if (tiff_ == nullptr) return FailureStatus();
  may_read_ = UINT64_MAX;
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode
