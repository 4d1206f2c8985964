// Decodes audio files by libsndfile, from memory.
//
// libsndfile trusts its input more than a daemon can. The callbacks here
// therefore limit how many bytes each call of libsndfile reads, and how often
// the call asks for its place in the file. When a limit is reached, the
// callbacks report the file's end.
//
// Seeking is not exact everywhere. In an Ogg file, libsndfile misplaces the
// last page's frames by the number of frames that the encoder cut off. In a
// stream that was cut out of a longer stream, libsndfile misplaces all frames.
// Opus also needs frames before the wanted frames. SeekTo therefore seeks to an
// earlier frame, and decodes up to the wanted frame.

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

// Rate of the granule positions of Opus in Ogg files, in Hz (RFC 7845, section
// 4).
constexpr std::uint64_t kOpusRate = 48000;
// The most numbers that are decoded at a time on the way to the wanted frames.
constexpr std::size_t kSkipped = 4096;
// The most numbers of wanted frames that are decoded at a time. For more
// numbers, libsndfile might need more bytes than one call may read.
constexpr std::size_t kDecoded = std::size_t{1} << 14;
// The most bytes of an Ogg file that one call may read. libogg assembles a
// packet in memory that is not counted anywhere. The longest packets are
// comments with pictures.
constexpr std::uint64_t kMostOggBytes = std::uint64_t{16} << 20;
// The most times that one call may ask for its place in the file. The chunks of
// a malicious WAV file may form a circle. For each chunk that it reads,
// libsndfile keeps an entry, and asks for its place in the file.
constexpr int kMostQuestions = 1 << 16;

// Returns the first frame of the last page, or an earlier frame. libsndfile
// takes the last page's granule position for the stream's length. The page's
// frames are therefore misplaced by the number of frames that the encoder cut
// off.
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

// Returns how many bytes of sound a WAV file lacks, compared with the length in
// its header. libsndfile would read a truncated file as a shorter file. Returns
// 0 if the header says that the writer did not know the length.
std::uint64_t MissingBytes(PartialFile* file, std::uint64_t begin) {
  constexpr std::uint64_t kFirstChunk = 12;
  // A header that gives at least this length comes from a writer that did not
  // know the length, because it wrote into a pipe. Each writer uses a large
  // number of its own; sox uses the lowest.
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
    // Chunks begin at even offsets.
    at += std::uint64_t{bytes} + (bytes & 1);
  }
  return 0;
}

// Checks the numbers that libsndfile has read from the header.
absl::Status CheckInfo(AudioFormat format, const SF_INFO& info,
                       PartialFile* file, std::uint64_t begin) {
  if (info.frames == SF_COUNT_MAX)
    return absl::DataLossError(
        format == AudioFormat::kOgg
            ? "is a truncated Ogg file: its end is not there"
            : "does not say how long it is, as files that were written into "
              "a pipe: write it again into a file");
  // Lengths in big-endian files (RIFX) are not checked.
  const bool counts = format == AudioFormat::kWav &&
                      (info.format & SF_FORMAT_ENDMASK) != SF_ENDIAN_BIG;
  const std::uint64_t missing = counts ? MissingBytes(file, begin) : 0;
  if (missing > 0)
    return absl::DataLossError(absl::StrCat(
        "is a truncated WAV file: it lacks ", missing, " bytes of its sound"));
  return CheckClip(NameOf(format), info.frames, info.channels, info.samplerate);
}

}  // namespace

// The callbacks of libsndfile. Not thread-safe. Borrows the file.
class SndfileDecoder::Memory {
 public:
  // Reads the file from offset `begin` on.
  Memory(PartialFile* file, std::uint64_t begin) : file_(file), begin_(begin) {}

  // Allows libsndfile to read `bytes` bytes from now on, and to ask `questions`
  // times for its place. Beyond these limits, the file seems to end.
  void Allow(std::uint64_t bytes, int questions) {
    allowed_ = bytes;
    questions_ = questions;
  }
  // Whether a limit was reached.
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

  // Moves to an offset. Refuses an offset before the file's beginning.
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
  // libsndfile would count a part of the tags as WAV data.
  const std::uint64_t begin = head.size() - BehindTags(head).size();
  memory_ = std::make_unique<Memory>(file, begin);
  AllowOneCall();
  SF_VIRTUAL_IO callbacks = Memory::Callbacks();
  SF_INFO info = {};
  file_.reset(sf_open_virtual(&callbacks, SFM_READ, &info, memory_.get()));
  // libsndfile's reason for a failure is not used, because libsndfile keeps it
  // in a variable that all threads share.
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
  // An Opus frame depends on earlier frames, but hardly on distant ones. One
  // second of earlier frames is enough.
  preroll_ = is_opus ? info_.sample_rate : 0;
  return info_;
}

absl::Status SndfileDecoder::SeekTo(std::uint64_t begin) {
  const auto at = static_cast<std::uint64_t>(
      std::max<sf_count_t>(sf_seek(file_.get(), 0, SEEK_CUR), 0));
  if (at == begin) return absl::OkStatus();
  // libsndfile seeks by the pages' granule positions. In a stream that was cut
  // out of a longer stream, these positions do not match the numbers of the
  // frames that libsndfile reads.
  if (std::exchange(may_be_cut_out_, false) && IsCutOut(bytes_.head()))
    seekable_ = 0;
  std::uint64_t next = begin - std::min(begin, preroll_);
  if (next >= seekable_) next = seekable_ == 0 ? 0 : seekable_ - 1;
  // In encodings such as GSM 6.10, decoding always begins at the first frame.
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
