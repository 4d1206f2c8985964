#include "server/audio/sndfile_decoder.h"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/audio/ogg_tail.h"
#include "server/audio/vorbis_headers.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::audio {
namespace {

constexpr std::uint64_t kOpusRate = 48000;  // of the places in Ogg files
// Frames on the way to others are decoded in pieces of so many numbers.
constexpr std::size_t kSkipped = 4096;
// Frames that are wanted are, too: one call of libsndfile's has a bound, below.
constexpr std::size_t kDecoded = std::size_t{1} << 14;
// libogg copies a packet together, in memory that nobody has counted. So no
// call may read more of an Ogg file. A comment with a picture comes nearest.
constexpr std::uint64_t kMostOggBytes = std::uint64_t{16} << 20;
// A WAV file's chunks may lead back to where they began, and libsndfile keeps
// each that it comes by. It asks for its place at each.
constexpr int kMostQuestions = 1 << 16;

// libsndfile takes the place where the last page ends for its length, and is
// wrong about what lies in it by what the encoder cut off. Returns the first
// frame of that page, or less.
std::uint64_t StartOfLastPage(absl::Span<const std::uint8_t> file,
                              const ClipInfo& info, bool is_opus) {
  const auto tail = OggTail(file);
  if (!tail.has_value()) return 0;
  std::uint64_t frames = *tail;
  if (is_opus) {
    constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 40;
    if (frames > kMostFrames) return 0;
    frames = (frames * info.sample_rate) / kOpusRate + 1;
  }
  return info.frames > frames ? info.frames - frames : 0;
}

std::uint32_t LittleEndian(absl::Span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(bytes[0]) | bytes[1] << 8 | bytes[2] << 16 |
         static_cast<std::uint32_t>(bytes[3]) << 24;
}

// libsndfile takes what is there of a truncated WAV file for all of it. Returns
// how many bytes of sound the header speaks of beyond these; 0, too, if its
// writer did not know the length.
std::uint64_t MissingBytes(PartialFile* file, std::uint64_t begin) {
  constexpr std::uint64_t kFirstChunk = 12;
  // Of a file that was written into a pipe; sox's, the least of them.
  constexpr std::uint32_t kUnknown = 0x7FFF'F000;
  constexpr std::array<std::uint8_t, 4> kData = {'d', 'a', 't', 'a'};
  std::uint64_t at = begin + kFirstChunk;
  std::array<std::uint8_t, 8> chunk = {};
  while (file->Read(at, chunk.size(), chunk.data()) == chunk.size()) {
    const std::uint32_t bytes =
        LittleEndian(absl::MakeConstSpan(chunk).subspan(4));
    at += chunk.size();
    if (std::equal(kData.begin(), kData.end(), chunk.begin())) {
      const std::uint64_t there = file->size() - at;
      return bytes >= kUnknown || bytes <= there ? 0 : bytes - there;
    }
    // Chunks begin at even places.
    at += std::uint64_t{bytes} + (bytes & 1);
  }
  return 0;
}

absl::Status CheckInfo(AudioFormat format, const SF_INFO& info,
                       PartialFile* file, std::uint64_t begin) {
  if (info.frames == SF_COUNT_MAX)
    return absl::DataLossError(
        format == AudioFormat::kOgg
            ? "is a truncated Ogg file: its end is not there"
            : "does not say how long it is, as files that were written into "
              "a pipe: write it again into a file");
  // Big-endian files have their lengths so.
  const bool counts = format == AudioFormat::kWav &&
                      (info.format & SF_FORMAT_ENDMASK) != SF_ENDIAN_BIG;
  const std::uint64_t missing = counts ? MissingBytes(file, begin) : 0;
  if (missing > 0)
    return absl::DataLossError(absl::StrCat(
        "is a truncated WAV file: it lacks ", missing, " bytes of its sound"));
  return CheckClip(NameOf(format), info.frames, info.channels, info.samplerate);
}

}  // namespace

class SndfileDecoder::Memory {
 public:
  // Of the file from `begin` on.
  Memory(PartialFile* file, std::uint64_t begin) : file_(file), begin_(begin) {}

  // From here on, libsndfile may read so many bytes, and ask so many times for
  // its place. Then it is at the file's end.
  void Allow(std::uint64_t bytes, int questions) {
    allowed_ = bytes;
    questions_ = questions;
  }
  bool has_refused() const { return has_refused_; }

  static SF_VIRTUAL_IO Callbacks() {
    return {.get_filelen = Length,
            .seek = Seek,
            .read = Read,
            .write = Write,
            .tell = Tell};
  }

 private:
  static Memory* Self(void* self) { return static_cast<Memory*>(self); }
  static sf_count_t Length(void* self) {
    return static_cast<sf_count_t>(Self(self)->file_->size() -
                                   Self(self)->begin_);
  }
  static sf_count_t Tell(void* self) {
    Memory& memory = *Self(self);
    if (memory.questions_ == 0) {
      memory.has_refused_ = true;
      return Length(self);
    }
    --memory.questions_;
    return static_cast<sf_count_t>(memory.at_);
  }
  static sf_count_t Write(const void*, sf_count_t, void*) { return 0; }

  // Stays where it is if that is no place in the file.
  static sf_count_t Seek(sf_count_t offset, int whence, void* self) {
    sf_count_t from = 0;
    if (whence == SEEK_CUR) from = static_cast<sf_count_t>(Self(self)->at_);
    if (whence == SEEK_END) from = Length(self);
    sf_count_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
    to = std::min(to, Length(self));
    Self(self)->at_ = static_cast<std::size_t>(to);
    return to;
  }

  static sf_count_t Read(void* out, sf_count_t count, void* self) {
    if (count <= 0) return 0;
    Memory& memory = *Self(self);
    if (static_cast<std::uint64_t>(count) > memory.allowed_) {
      memory.has_refused_ = true;
      return 0;
    }
    memory.allowed_ -= static_cast<std::uint64_t>(count);
    const std::size_t bytes = memory.file_->Read(
        memory.begin_ + memory.at_, static_cast<std::size_t>(count), out);
    memory.at_ += bytes;
    return static_cast<sf_count_t>(bytes);
  }

  PartialFile* const file_;
  const std::uint64_t begin_;
  std::size_t at_ = 0;
  std::uint64_t allowed_ = 0;
  int questions_ = 0;
  bool has_refused_ = false;
};

SndfileDecoder::SndfileDecoder() = default;

SndfileDecoder::~SndfileDecoder() = default;

void SndfileDecoder::Close::operator()(sf_private_tag* file) const {
  sf_close(file);
}

absl::Status SndfileDecoder::Damaged(std::string_view how) const {
  if (memory_->has_refused() && format_ == AudioFormat::kOgg)
    return absl::DataLossError(
        absl::StrCat("is an Ogg file with a packet of more than ",
                     kMostOggBytes, " bytes, or damaged"));
  return absl::DataLossError(absl::StrCat("is a damaged ",
                                          std::string(NameOf(format_)), " file",
                                          std::string(how)));
}

absl::StatusOr<ClipInfo> SndfileDecoder::OpenFile(PartialFile* file,
                                                  int* subtype) {
  file_.reset();
  const absl::Span<const std::uint8_t> head = file->head();
  format_ = FormatOf(head);
  if (format_ == AudioFormat::kOgg) {
    FOREBAY_RETURN_IF_ERROR(CheckVorbisHeaders(
        head.first(std::min<std::size_t>(head.size(), kMostOggBytes))));
  }
  // libsndfile counts some of a tag as a part of a WAV file.
  const std::uint64_t begin = head.size() - BehindTags(head).size();
  memory_ = std::make_unique<Memory>(file, begin);
  AllowOneCall();
  SF_VIRTUAL_IO callbacks = Memory::Callbacks();
  SF_INFO info = {};
  file_.reset(sf_open_virtual(&callbacks, SFM_READ, &info, memory_.get()));
  // libsndfile has the reason in a place that all threads share.
  if (file_ == nullptr) return Damaged(", or of a kind that is not read");
  const absl::Status is_clip = CheckInfo(format_, info, file, begin);
  if (!is_clip.ok()) {
    file_.reset();
    return memory_->has_refused() ? Damaged("") : is_clip;
  }
  is_seekable_ = info.seekable != 0;
  *subtype = info.format & SF_FORMAT_SUBMASK;
  return ClipInfo{.frames = static_cast<std::uint64_t>(info.frames),
                  .channels = static_cast<std::uint32_t>(info.channels),
                  .sample_rate = static_cast<std::uint32_t>(info.samplerate)};
}

void SndfileDecoder::AllowOneCall() {
  memory_->Allow(format_ == AudioFormat::kOgg
                     ? kMostOggBytes
                     : std::numeric_limits<std::uint64_t>::max(),
                 kMostQuestions);
}

absl::StatusOr<ClipInfo> SndfileDecoder::Measure(PartialFile* file) {
  int subtype = 0;
  auto info = OpenFile(file, &subtype);
  file_.reset();
  return info;
}

absl::StatusOr<ClipInfo> SndfileDecoder::Open(
    absl::Span<const std::uint8_t> file) {
  bytes_ = PartialFile(file);
  int subtype = 0;
  FOREBAY_ASSIGN_OR_RETURN(info_, OpenFile(&bytes_, &subtype));
  const bool is_opus = subtype == SF_FORMAT_OPUS;
  seekable_ = format_ == AudioFormat::kOgg
                  ? StartOfLastPage(file, info_, is_opus)
                  : info_.frames;
  may_be_cut_out_ = subtype == SF_FORMAT_VORBIS;
  // The result of Opus depends on the frames before, the less the longer ago.
  preroll_ = is_opus ? info_.sample_rate : 0;
  return info_;
}

absl::Status SndfileDecoder::SeekTo(std::uint64_t begin) {
  const auto at = static_cast<std::uint64_t>(
      std::max<sf_count_t>(sf_seek(file_.get(), 0, SEEK_CUR), 0));
  if (at == begin) return absl::OkStatus();
  // libsndfile seeks in it by what its pages say, which is not what it reads.
  if (std::exchange(may_be_cut_out_, false) && IsCutOut(bytes_.head()))
    seekable_ = 0;
  std::uint64_t next = begin - std::min(begin, preroll_);
  if (next >= seekable_) next = seekable_ == 0 ? 0 : seekable_ - 1;
  // Codes such as GSM 6.10's: all before is decoded, too.
  if (!is_seekable_) next = 0;
  const auto place = static_cast<sf_count_t>(next);
  AllowOneCall();
  if (is_seekable_ && sf_seek(file_.get(), place, SEEK_SET) != place)
    return Damaged(absl::StrCat(": there is no way to its frame ", begin));
  std::array<float, kSkipped> skipped;
  const std::uint64_t most = skipped.size() / info_.channels;
  while (next < begin) {
    const auto step = static_cast<sf_count_t>(std::min(begin - next, most));
    AllowOneCall();
    if (sf_readf_float(file_.get(), skipped.data(), step) != step)
      return Damaged(absl::StrCat(": it ends before its frame ", begin));
    next += static_cast<std::uint64_t>(step);
  }
  return absl::OkStatus();
}

absl::Status SndfileDecoder::Decode(std::uint64_t begin,
                                    absl::Span<float> out) {
  if (file_ == nullptr) return absl::FailedPreconditionError("is not open");
  const std::uint64_t frames = out.size() / info_.channels;
  FOREBAY_CHECK(begin <= info_.frames && frames <= info_.frames - begin);
  if (frames == 0) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(SeekTo(begin));
  const std::uint64_t most = kDecoded / info_.channels;
  for (std::uint64_t done = 0; done < frames;) {
    const std::uint64_t wanted = std::min(frames - done, most);
    AllowOneCall();
    const auto there = static_cast<std::uint64_t>(std::max<sf_count_t>(
        sf_readf_float(file_.get(), out.data() + done * info_.channels,
                       static_cast<sf_count_t>(wanted)),
        0));
    if (sf_error(file_.get()) != SF_ERR_NO_ERROR)
      return Damaged(absl::StrCat(": ", sf_strerror(file_.get())));
    done += there;
    if (there == wanted) continue;
    if (memory_->has_refused()) return Damaged("");
    return absl::DataLossError(absl::StrCat(
        "is a truncated ", std::string(NameOf(format_)), " file: it has ",
        begin + done, " of ", info_.frames, " frames"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::audio
