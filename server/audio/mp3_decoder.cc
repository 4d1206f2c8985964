// Decodes MP3 files by libmpg123, from memory.
//
// A frame of layer III depends on earlier frames: its main data may begin in
// them (the bit reservoir), and its output overlaps with theirs. Decoding from
// the middle of a file must give the numbers of a full decode. mpg123 is
// therefore told how many earlier frames to decode first. The clip's length is
// taken from the encoder's header. Without that header, all frames are scanned
// for the length.

#include "server/audio/mp3_decoder.h"

#include <mpg123.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::audio {
namespace {

// Number of MPEG frames decoded before the first wanted frame. Each frame
// overlaps with the next, and the synthesis filter remembers earlier output.
constexpr int kOverlap = 2;
// The most MPEG frames that are decoded before the first wanted frame, whatever
// their size.
constexpr int kMostPreframes = 128;

// Returns the size in bytes of the smallest frame at a sample rate. The lowest
// bit rate is 32 kbit/s. With `is_low` (MPEG-2) it is 8 kbit/s, and a frame has
// half as many samples.
int LeastFrame(bool is_low, std::int64_t rate) {
  constexpr std::int64_t kBytesASecond = 4000;
  constexpr std::int64_t kNumbers = 1152;
  const std::int64_t bytes = kBytesASecond * kNumbers / rate;
  return static_cast<int>(is_low ? bytes / 8 : bytes);
}

// Returns how many MPEG frames to decode before the first wanted frame. A frame
// of layer III may need main data of earlier frames: up to 511 bytes, or 255 at
// low sample rates (ISO/IEC 11172-3, main_data_begin). Headers, checksums and
// side information are not main data. `is_constant` says that all frames are as
// large as `frame`.
int PreframesFor(const mpg123_frameinfo& frame, bool is_constant) {
  if (frame.layer != 3) return kOverlap;
  const bool is_low = frame.version != MPG123_1_0;
  const bool is_mono = frame.mode == MPG123_M_MONO;
  const int reservoir = is_low ? 255 : 511;
  const int side = is_low ? (is_mono ? 9 : 17) : (is_mono ? 17 : 32);
  constexpr int kHeader = 4;
  const int checksum = (frame.flags & MPG123_CRC) != 0 ? 2 : 0;
  const int size =
      is_constant ? frame.framesize - 1 : LeastFrame(is_low, frame.rate);
  const int bytes = std::max(size - kHeader - checksum - side, 1);
  const int full = (reservoir + bytes - 1) / bytes;
  return std::min(full + kOverlap, kMostPreframes);
}

absl::Status Damaged(const char* why) {
  return absl::DataLossError(absl::StrCat("is a damaged MP3 file: ", why));
}

}  // namespace

void Mp3Decoder::Delete::operator()(mpg123_handle_struct* handle) const {
  mpg123_delete(handle);
}

absl::StatusOr<Mp3Decoder::Handle> Mp3Decoder::MakeHandle() {
  static const int initialized = mpg123_init();
  int error = initialized;
  Handle handle(error == MPG123_OK ? mpg123_new("generic", &error) : nullptr);
  if (handle == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot be decoded: ", mpg123_plain_strerror(error)));
  }
  // These are the options that libsndfile sets. In addition, tags are skipped
  // and nothing is printed.
  mpg123_param(handle.get(), MPG123_REMOVE_FLAGS, MPG123_AUTO_RESAMPLE, 0);
  mpg123_param(handle.get(), MPG123_ADD_FLAGS,
               MPG123_FORCE_FLOAT | MPG123_GAPLESS | MPG123_NO_FRANKENSTEIN |
                   MPG123_QUIET | MPG123_SKIP_ID3V2,
               0);
  const auto read = [](void* self, void* out, std::size_t count) {
    auto& memory = *static_cast<Memory*>(self);
    const std::size_t bytes = memory.file->Read(memory.at, count, out);
    memory.at += bytes;
    return static_cast<ssize_t>(bytes);
  };
  const auto seek = [](void* self, off_t offset, int whence) {
    auto& memory = *static_cast<Memory*>(self);
    const auto size = static_cast<off_t>(memory.file->size());
    off_t to = 0;
    if (whence == SEEK_CUR) to = static_cast<off_t>(memory.at);
    if (whence == SEEK_END) to = size;
    if (__builtin_add_overflow(to, offset, &to) || to < 0) return off_t{-1};
    memory.at = static_cast<std::uint64_t>(std::min(to, size));
    return static_cast<off_t>(memory.at);
  };
  mpg123_replace_reader_handle(handle.get(), read, seek, nullptr);
  return handle;
}

absl::StatusOr<ClipInfo> Mp3Decoder::Open(absl::Span<const std::uint8_t> file) {
  bytes_ = PartialFile(file);
  return OpenFile(&bytes_);
}

absl::StatusOr<ClipInfo> Mp3Decoder::Measure(PartialFile* file) {
  auto info = OpenFile(file);
  handle_.reset();
  return info;
}

absl::StatusOr<ClipInfo> Mp3Decoder::OpenFile(PartialFile* file) {
  handle_.reset();
  FOREBAY_ASSIGN_OR_RETURN(handle_, MakeHandle());
  memory_ = {.file = file};
  auto info = ReadHeader();
  if (!info.ok()) handle_.reset();
  return info;
}

absl::StatusOr<ClipInfo> Mp3Decoder::ReadHeader() {
  if (mpg123_open_handle(handle_.get(), &memory_) != MPG123_OK)
    return Damaged(mpg123_strerror(handle_.get()));
  long rate = 0;  // NOLINT(google-runtime-int): mpg123's
  int channels = 0;
  int encoding = 0;
  mpg123_frameinfo frame = {};
  if (mpg123_getformat(handle_.get(), &rate, &channels, &encoding) !=
          MPG123_OK ||
      mpg123_info(handle_.get(), &frame) != MPG123_OK) {
    return Damaged(mpg123_strerror(handle_.get()));
  }
  if (encoding != MPG123_ENC_FLOAT_32)
    return absl::InternalError("cannot be decoded to float32");
  const std::int64_t frames = Length();
  FOREBAY_RETURN_IF_ERROR(CheckClip("MP3", frames, channels, rate));
  // The header says whether all frames have the same size. The header is
  // trusted only if the encoder also told the length.
  const bool is_constant = frame.vbr == MPG123_CBR && IsTold();
  mpg123_param(handle_.get(), MPG123_PREFRAMES,
               PreframesFor(frame, is_constant), 0);
  info_ = {.frames = static_cast<std::uint64_t>(frames),
           .channels = static_cast<std::uint32_t>(channels),
           .sample_rate = static_cast<std::uint32_t>(rate)};
  return info_;
}

bool Mp3Decoder::IsTold() {
  long delay = -1;  // NOLINT(google-runtime-int): mpg123's
  mpg123_getstate(handle_.get(), MPG123_ENC_DELAY, &delay, nullptr);
  return delay >= 0;
}

// If the encoder did not tell the number of frames, mpg123's first answer is an
// estimate. libsndfile reads no more frames than that estimate. A scan then
// counts the frames.
std::int64_t Mp3Decoder::Length() {
  const off_t told = mpg123_length(handle_.get());
  if (IsTold() && told > 0) return told;
  if (mpg123_scan(handle_.get()) != MPG123_OK) return told;
  const off_t found = mpg123_length(handle_.get());
  return told > 0 ? std::min(told, found) : found;
}

absl::Status Mp3Decoder::SeekTo(std::uint64_t begin) {
  const auto wanted = static_cast<off_t>(begin);
  if (mpg123_tell(handle_.get()) == wanted) return absl::OkStatus();
  if (mpg123_seek(handle_.get(), wanted, SEEK_SET) == wanted)
    return absl::OkStatus();
  return Damaged("there is no way to the frames that are wanted");
}

absl::Status Mp3Decoder::Decode(std::uint64_t begin, absl::Span<float> out) {
  if (handle_ == nullptr) return absl::FailedPreconditionError("is not open");
  const std::uint64_t frames = out.size() / info_.channels;
  FOREBAY_CHECK(begin <= info_.frames && frames <= info_.frames - begin);
  if (frames == 0) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(SeekTo(begin));
  auto* const bytes = reinterpret_cast<unsigned char*>(out.data());
  const std::size_t wanted = out.size() * sizeof(float);
  std::size_t done = 0;
  while (done < wanted) {
    std::size_t got = 0;
    const int result =
        mpg123_read(handle_.get(), bytes + done, wanted - done, &got);
    done += got;
    if (done == wanted) break;
    if (result == MPG123_NEW_FORMAT)
      return Damaged("it changes its channels or sample rate");
    if (result == MPG123_OK && got > 0) continue;
    if (result != MPG123_OK && result != MPG123_DONE)
      return Damaged(mpg123_strerror(handle_.get()));
    return absl::DataLossError(
        absl::StrCat("is a truncated MP3 file: it has ",
                     begin + done / sizeof(float) / info_.channels, " of ",
                     info_.frames, " frames"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::audio
