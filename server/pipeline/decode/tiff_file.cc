#include "server/pipeline/decode/tiff_file.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// The most entries of a directory. libtiff sorts its known tags again for each
// unknown entry, which takes quadratic time.
constexpr std::uint64_t kMostEntries = 1000;

// Returns the number that is stored in `bytes` bytes at an offset; 0 if the
// number lies beyond the file's end.
std::uint64_t NumberAt(Bytes file, std::uint64_t offset, std::size_t bytes,
                       bool little_endian) {
  if (offset > file.size() || file.size() - offset < bytes) return 0;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    number = number << 8 | file[offset + (little_endian ? bytes - 1 - i : i)];
  }
  return number;
}

// The first image file directory (TIFF 6.0, section 2), as it is stored in the
// file. BigTIFF files, of version 43, have counts and offsets of 8 bytes.
class Directory {
 public:
  explicit Directory(Bytes file)
      : file_(file),
        little_endian_(file.size() >= 8 && file[0] == 'I'),
        big_(At(2, 2) == 43),
        begin_(big_ ? At(8, 8) : At(4, 4)) {}

  std::uint64_t entries() const { return At(begin_, big_ ? 8 : 2); }
  std::uint64_t TagOf(std::uint64_t entry) const { return At(Of(entry), 2); }
  std::uint64_t TypeOf(std::uint64_t entry) const {
    return At(Of(entry) + 2, 2);
  }
  std::uint64_t CountOf(std::uint64_t entry) const {
    return At(Of(entry) + 4, big_ ? 8 : 4);
  }
  // Whether an entry's value lies in the file. Also true if the value's type is
  // not known. A value of at most 4 bytes, or 8 in BigTIFF, lies in the entry
  // itself.
  bool HasValue(std::uint64_t entry) const {
    constexpr std::uint8_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2,
                                       4, 8, 4, 8, 4, 0, 0, 8};
    const std::uint64_t width = big_ ? 8 : 4;
    const std::uint64_t type = TypeOf(entry);
    const std::uint64_t bytes = type < std::size(kBytes) ? kBytes[type] : 0;
    const std::uint64_t count = CountOf(entry);
    if (bytes == 0 || count <= width / bytes) return true;
    const std::uint64_t offset = At(Of(entry) + 4 + width, width);
    return offset <= file_.size() && count <= (file_.size() - offset) / bytes;
  }

 private:
  std::uint64_t At(std::uint64_t offset, std::size_t bytes) const {
    return NumberAt(file_, offset, bytes, little_endian_);
  }
  // Returns the offset of an entry.
  std::uint64_t Of(std::uint64_t entry) const {
    return begin_ + (big_ ? 8 + 20 * entry : 2 + 12 * entry);
  }

  const Bytes file_;
  const bool little_endian_;
  const bool big_;
  const std::uint64_t begin_;
};

// Whether a tag's integers say where pixels lie or what they mean.
bool SaysHowPixelsLie(std::uint64_t tag) {
  constexpr std::uint64_t kTags[] = {
      TIFFTAG_IMAGEWIDTH,      TIFFTAG_IMAGELENGTH,     TIFFTAG_BITSPERSAMPLE,
      TIFFTAG_COMPRESSION,     TIFFTAG_PHOTOMETRIC,     TIFFTAG_FILLORDER,
      TIFFTAG_STRIPOFFSETS,    TIFFTAG_SAMPLESPERPIXEL, TIFFTAG_ROWSPERSTRIP,
      TIFFTAG_STRIPBYTECOUNTS, TIFFTAG_PLANARCONFIG,    TIFFTAG_PREDICTOR,
      TIFFTAG_TILEWIDTH,       TIFFTAG_TILELENGTH,      TIFFTAG_TILEOFFSETS,
      TIFFTAG_TILEBYTECOUNTS,  TIFFTAG_EXTRASAMPLES,    TIFFTAG_SAMPLEFORMAT};
  return std::find(std::begin(kTags), std::end(kTags), tag) != std::end(kTags);
}

struct OptionsFreer {
  void operator()(TIFFOpenOptions* options) const {
    TIFFOpenOptionsFree(options);
  }
};

}  // namespace

tmsize_t TiffFile::OnRead(thandle_t handle, void* out, tmsize_t size) {
  auto* const file = static_cast<TiffFile*>(handle);
  const std::uint64_t left =
      file->encoded_.size() -
      std::min<std::uint64_t>(file->position_, file->encoded_.size());
  const auto wanted = static_cast<std::uint64_t>(std::max<tmsize_t>(size, 0));
  // Some writers leave out the offset of the next directory, which has 4 or 8
  // bytes.
  const bool may_lack = left == 0 && (wanted == 4 || wanted == 8);
  if (wanted > left && !may_lack) file->cut_off_ = true;
  const std::uint64_t count = std::min({wanted, left, file->may_read_});
  if (count == 0) return 0;
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
  // The return value 1 keeps libtiff from calling its usual handler, which
  // prints.
  return 1;
}

// If a strip or tile is a JPEG image that is too small, libtiff only warns, and
// leaves the missing pixels as they are.
int TiffFile::OnWarning(TIFF*, void* file, const char*, const char* format,
                        va_list) {
  constexpr std::string_view kSmaller = "Improper JPEG strip/tile size";
  if (std::string_view(format).substr(0, kSmaller.size()) == kSmaller)
    static_cast<TiffFile*>(file)->lacks_pixels_ = true;
  return 1;
}

absl::Status TiffFile::FailureStatus() const {
  if (message_[0] == '\0') {
    return absl::DataLossError("is a corrupt TIFF image");
  }
  return absl::DataLossError(
      absl::StrCat("is a corrupt TIFF image: ", message_));
}

// libtiff accepts values of any numeric type, and tags that occur twice. Pillow
// accepts neither.
absl::Status TiffFile::ReadEntries() {
  constexpr std::uint64_t kNumberTypes[] = {TIFF_SHORT, TIFF_LONG, TIFF_LONG8};
  const Directory directory(encoded_);
  if (directory.entries() > kMostEntries) {
    return absl::DataLossError("is a TIFF image with more than 1000 tags");
  }
  piece_count_ = 0;
  std::set<std::uint64_t> tags;
  bool has_values = true;
  for (std::uint64_t i = 0; i < directory.entries(); ++i) {
    const std::uint64_t tag = directory.TagOf(i);
    // Pillow ends a directory at the first value that lies beyond the file.
    has_values = has_values && directory.HasValue(i);
    if (!SaysHowPixelsLie(tag)) continue;
    if (!has_values) return absl::DataLossError("is a truncated TIFF image");
    if (!tags.insert(tag).second) {
      return absl::DataLossError(
          absl::StrCat("is a corrupt TIFF image: it has two tags ", tag));
    }
    if (std::find(std::begin(kNumberTypes), std::end(kNumberTypes),
                  directory.TypeOf(i)) == std::end(kNumberTypes)) {
      return absl::DataLossError(
          absl::StrCat("is a corrupt TIFF image: its tag ", tag,
                       " has a value of another type than its kind"));
    }
    if (tag == TIFFTAG_STRIPOFFSETS || tag == TIFFTAG_TILEOFFSETS)
      piece_count_ = directory.CountOf(i);
  }
  return absl::OkStatus();
}

absl::Status TiffFile::Open(Bytes encoded, std::uint64_t most_bytes) {
  Close();
  encoded_ = encoded;
  position_ = 0;
  cut_off_ = false;
  lacks_pixels_ = false;
  message_[0] = '\0';
  FOREBAY_RETURN_IF_ERROR(ReadEntries());
  const std::unique_ptr<TIFFOpenOptions, OptionsFreer> options(
      TIFFOpenOptionsAlloc());
  if (options == nullptr) return FailureStatus();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(),
                                      static_cast<tmsize_t>(most_bytes));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), OnError, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), OnWarning, this);
  // All entries may refer to the same bytes. Reads are therefore limited to
  // twice the file's length.
  constexpr std::uint64_t kSpareBytes = 64 << 10;
  may_read_ = 2 * std::uint64_t{encoded.size()} + kSpareBytes;
  // Mode "C" keeps strips as they are in the file, as Pillow does. Mode "m"
  // keeps libtiff from mapping the file.
  tiff_.reset(TIFFClientOpenExt("", "rCm", this, OnRead, OnWrite, OnSeek,
                                OnClose, OnSize, nullptr, nullptr,
                                options.get()));
  if (tiff_ == nullptr) return FailureStatus();
  may_read_ = UINT64_MAX;
  if (cut_off_) {
    Close();
    return absl::DataLossError("is a truncated TIFF image");
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode
