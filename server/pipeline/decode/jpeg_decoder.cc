// Decodes only a region of a JPEG image, with the pixels of a full decode:
//
// - Columns: jpeg_crop_scanline moves the left edge to an iMCU border. Fancy
//   upsampling then takes the first and last decoded chroma sample for the
//   image's own first and last. The code therefore asks for one pixel more on
//   each side, and for at least kMinWidth pixels: for fewer, libjpeg would
//   choose another upsampler.
// - Rows above the region are only entropy-decoded (jpeg_skip_scanlines keeps
//   the context that upsampling needs). Rows below the region are usually not
//   decoded.
// - A progressive image that lacks scans is decoded as a whole, and the region
//   is cut out. libjpeg smooths such an image across blocks, which would also
//   change pixels at the edges of a crop.
// - Pillow decodes whole images, and refuses a file that ends too early, or has
//   a segment below the crop that libjpeg cannot read. If the next marker other
//   than a restart marker is the end of the image, the rest cannot fail. If
//   not, the rest of the image is decoded as well.
// - Rows of a strip begin 16 bytes off a vector's alignment. libjpeg-turbo
//   would write aligned rows by non-temporal stores, which bypass the caches
//   in which the sink should find the rows.

#include "server/pipeline/decode/jpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

// libjpeg's headers need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/decode/cmyk_pixels.h"
#include "server/pipeline/decode/jpeg_markers.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::uint32_t kMinWidth = 16;
constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kMisalignment = 16;
// The most scans of an image, each of which takes a pass; no encoder writes
// more.
constexpr int kMaxScans = 100;
// First bytes of a JPEG file, which Pillow and libjpeg check.
constexpr std::uint8_t kMagic[] = {0xff, 0xd8, 0xff};

enum class Failure { kNone, kCorrupt, kTruncated, kTooManyScans, kNoMemory };

// The state of an error of libjpeg. libjpeg calls back with a pointer to
// `manager`, which must therefore be the first member.
struct ErrorState {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  Failure failure;
  char message[JMSG_LENGTH_MAX];
};

// Notes a failure, and jumps back to the last setjmp.
[[noreturn]] void Fail(j_common_ptr jpeg, Failure failure) {
  auto* errors = reinterpret_cast<ErrorState*>(jpeg->err);
  errors->failure = failure;
  std::longjmp(errors->jump, 1);
}

[[noreturn]] void OnError(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<ErrorState*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->message);
  Fail(jpeg, jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? Failure::kNoMemory
                                                       : Failure::kCorrupt);
}

void IgnoreMessage(j_common_ptr) {}

// Ignores warnings, as Pillow does.
void IgnoreWarning(j_common_ptr, int) {}

void InitSource(j_decompress_ptr) {}

// Fails when libjpeg asks for more bytes. libjpeg has all bytes from the start,
// so it asks only at the end of a truncated file.
boolean FailAtEnd(j_decompress_ptr jpeg) {
  Fail(reinterpret_cast<j_common_ptr>(jpeg), Failure::kTruncated);
}

boolean SuspendAtEnd(j_decompress_ptr) { return FALSE; }

void SkipInput(j_decompress_ptr jpeg, long bytes) {
  if (bytes <= 0) return;
  const std::size_t skipped =
      std::min(static_cast<std::size_t>(bytes), jpeg->src->bytes_in_buffer);
  jpeg->src->next_input_byte += skipped;
  jpeg->src->bytes_in_buffer -= skipped;
}

void CountScans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
    Fail(jpeg, Failure::kTooManyScans);
  }
}

// Whether decoding the rest of an image of one scan cannot fail: the next
// marker other than a restart marker is the end-of-image marker.
bool EndsWell(j_decompress_ptr jpeg) {
  const int met = jpeg->unread_marker;
  if (met != 0 && !IsRestart(met)) return met == JPEG_EOI;
  return MarkerAfter(jpeg->src->next_input_byte, jpeg->src->bytes_in_buffer) ==
         JPEG_EOI;
}

std::uint64_t CeilDiv(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Returns the number of bytes from one row of a strip to the next. An odd
// multiple of the cache line makes rows spread over the cache's sets.
std::size_t StripStride(std::uint32_t width, int components) {
  const std::size_t bytes =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(components) +
      kStripPadding;
  return (bytes + 63) / 64 * 64 | 64;
}

std::size_t StripBytes(std::uint32_t width, int components) {
  return StripStride(width, components) * kStripRows + 64 + kMisalignment +
         kStripPadding;
}

// Returns the number of bytes that libjpeg will allocate for the opened image,
// rounded up: row buffers and, if the image has several scans, all
// coefficients.
std::uint64_t LibraryBytes(j_decompress_ptr jpeg) {
  const auto max_h = static_cast<std::uint64_t>(jpeg->max_h_samp_factor);
  const auto max_v = static_cast<std::uint64_t>(jpeg->max_v_samp_factor);
  const std::uint64_t mcus_across = CeilDiv(jpeg->image_width, max_h * DCTSIZE);
  const std::uint64_t mcus_down = CeilDiv(jpeg->image_height, max_v * DCTSIZE);
  std::uint64_t bytes = 0;
  for (int i = 0; i < jpeg->num_components; ++i) {
    const auto h = static_cast<std::uint64_t>(jpeg->comp_info[i].h_samp_factor);
    const auto v = static_cast<std::uint64_t>(jpeg->comp_info[i].v_samp_factor);
    const std::uint64_t block_row = mcus_across * h;
    // libjpeg holds two iMCU rows, for the context, and one upsampled row.
    bytes += block_row * DCTSIZE * DCTSIZE * v * 2;
    bytes += mcus_across * max_h * DCTSIZE * max_v * 4;
    if (jpeg_has_multiple_scans(jpeg)) {
      bytes += block_row * mcus_down * v * sizeof(JBLOCK);
    }
  }
  return bytes;
}

// Whether a progressive image lacks bits of some coefficients. All of the
// image's scans have been read.
bool LacksScans(j_decompress_ptr jpeg) {
  if (!jpeg->progressive_mode) return false;
  for (int i = 0; i < jpeg->num_components; ++i) {
    const auto& bits = jpeg->coef_bits[i];
    if (std::any_of(std::begin(bits), std::end(bits),
                    [](int left) { return left != 0; })) {
      return true;
    }
  }
  return false;
}

}  // namespace

class JpegDecoder::Codec {
 public:
  explicit Codec(const DecodeLimits& limits);
  ~Codec();

  absl::StatusOr<ImageInfo> Open(absl::Span<const std::uint8_t> encoded);
  Reduction Reduce(std::uint32_t factor);
  absl::Status Decode(const Region& region, RowSink& sink);

 private:
  // The columns that are decoded for a region: the region's columns, and some
  // around them.
  struct Columns {
    JDIMENSION left;
    JDIMENSION width;
  };

  // longjmp may leave these functions. Neither they nor the functions that they
  // call while libjpeg runs may therefore hold an object with a destructor.
  void ReadHeader(absl::Span<const std::uint8_t> encoded);
  void DecodeRows(const Region& region, RowSink& sink);
  // Decodes the rows below the region, up to the image's end. Fails if they are
  // damaged or truncated.
  void DecodeRest(JSAMPROW row);
  Columns CropColumns(const Region& region);

  absl::Status CheckHeader();
  absl::Status FailureStatus() const;
  j_common_ptr common() { return reinterpret_cast<j_common_ptr>(&jpeg_); }

  const DecodeLimits limits_;
  ErrorState errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct jpeg_{};
  ImageInfo info_;
  Reduction reduction_;
  bool open_ = false;
  std::vector<std::uint8_t> strip_;
};

JpegDecoder::Codec::Codec(const DecodeLimits& limits) : limits_(limits) {
  jpeg_.err = jpeg_std_error(&errors_.manager);
  errors_.manager.error_exit = OnError;
  errors_.manager.emit_message = IgnoreWarning;
  errors_.manager.output_message = IgnoreMessage;
  source_.init_source = InitSource;
  source_.skip_input_data = SkipInput;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = InitSource;
  progress_.progress_monitor = CountScans;
}

JpegDecoder::Codec::~Codec() { jpeg_destroy_decompress(&jpeg_); }

absl::Status JpegDecoder::Codec::FailureStatus() const {
  switch (errors_.failure) {
    case Failure::kTruncated:
      return absl::DataLossError("is a truncated JPEG image");
    case Failure::kTooManyScans:
      return absl::DataLossError(
          absl::StrCat("is a JPEG image of more than ", kMaxScans, " scans"));
    case Failure::kNoMemory:
      return absl::ResourceExhaustedError(
          "needs more memory to decode than there is");
    case Failure::kNone:
    case Failure::kCorrupt:
      break;
  }
  return absl::DataLossError(
      absl::StrCat("is a corrupt JPEG image: ", errors_.message));
}

void JpegDecoder::Codec::ReadHeader(absl::Span<const std::uint8_t> encoded) {
  // Each image gets a new decompressor: an old one would keep tables, which the
  // next image would use.
  jpeg_destroy_decompress(&jpeg_);
  jpeg_create_decompress(&jpeg_);
  source_.next_input_byte = encoded.data();
  source_.bytes_in_buffer = encoded.size();
  source_.fill_input_buffer = FailAtEnd;
  jpeg_.src = &source_;
  // The image may follow after a stream that has only tables.
  while (jpeg_read_header(&jpeg_, FALSE) == JPEG_HEADER_TABLES_ONLY) {
  }
}

absl::StatusOr<ImageInfo> JpegDecoder::Codec::Open(
    absl::Span<const std::uint8_t> encoded) {
  open_ = false;
  reduction_ = {};
  if (encoded.size() < sizeof(kMagic) ||
      std::memcmp(encoded.data(), kMagic, sizeof(kMagic)) != 0) {
    return absl::DataLossError("is not a JPEG image");
  }
  errors_.failure = Failure::kNone;
  if (setjmp(errors_.jump) != 0) return FailureStatus();
  ReadHeader(encoded);
  if (absl::Status status = CheckHeader(); !status.ok()) return status;
  open_ = true;
  return info_;
}

// Checks the header. Calls no function of libjpeg that could fail.
absl::Status JpegDecoder::Codec::CheckHeader() {
  info_ = {
      jpeg_.image_width, jpeg_.image_height,
      LibraryBytes(&jpeg_) +
          StripBytes(jpeg_.image_width, std::max(jpeg_.num_components, 3))};
  switch (jpeg_.num_components) {
    case 1:
    case 3:
      jpeg_.out_color_space = JCS_RGB;
      break;
    case 4:
      jpeg_.out_color_space = JCS_CMYK;
      break;
    default:
      return absl::DataLossError(absl::StrCat(
          "is a JPEG image of ", jpeg_.num_components, " components"));
  }
  return CheckLimits("JPEG", info_, limits_);
}

Reduction JpegDecoder::Codec::Reduce(std::uint32_t factor) {
  if (!open_) return {};
  reduction_.factor = factor;
  jpeg_.scale_num = 1;
  jpeg_.scale_denom = factor;
  return reduction_;
}

absl::Status JpegDecoder::Codec::Decode(const Region& region, RowSink& sink) {
  if (!open_) return absl::FailedPreconditionError("no image is open");
  open_ = false;
  const std::uint32_t width = reduction_.Reduced(info_.width);
  if (!LiesIn(region, width, reduction_.Reduced(info_.height)))
    return absl::InvalidArgumentError("the region leaves the image");
  const std::size_t strip_bytes =
      StripBytes(width, std::max(jpeg_.num_components, 3));
  if (strip_.size() < strip_bytes) strip_.resize(strip_bytes);
  if (setjmp(errors_.jump) != 0) {
    jpeg_destroy_decompress(&jpeg_);
    return FailureStatus();
  }
  DecodeRows(region, sink);
  jpeg_destroy_decompress(&jpeg_);
  return absl::OkStatus();
}

JpegDecoder::Codec::Columns JpegDecoder::Codec::CropColumns(
    const Region& region) {
  const std::uint32_t image_width = jpeg_.output_width;
  std::uint32_t left = region.left > 0 ? region.left - 1 : 0;
  std::uint32_t right = std::min(region.left + region.width + 1, image_width);
  right = std::min(std::max(right, left + kMinWidth), image_width);
  if (right - left < kMinWidth) left = right - std::min(right, kMinWidth);
  Columns window{left, right - left};
  // With a sampling factor above 2, a reduced image is not cropped.
  // libjpeg-turbo upsamples its rows by two instead of four, and treats them as
  // half as long as they are.
  if (reduction_.factor > 1 && jpeg_.max_h_samp_factor > 2)
    return {0, image_width};
  if (window.width < image_width) {
    jpeg_crop_scanline(&jpeg_, &window.left, &window.width);
  }
  return window;
}

void JpegDecoder::Codec::DecodeRows(const Region& region, RowSink& sink) {
  if (jpeg_has_multiple_scans(&jpeg_)) jpeg_.progress = &progress_;
  jpeg_start_decompress(&jpeg_);
  const bool whole = LacksScans(&jpeg_);
  const Columns all = {0, jpeg_.output_width};
  const Columns window = whole ? all : CropColumns(region);
  const bool cmyk = jpeg_.out_color_space == JCS_CMYK;
  const std::size_t stride = StripStride(window.width, cmyk ? 4 : 3);
  auto address = reinterpret_cast<std::uintptr_t>(strip_.data());
  address = (address + 63) / 64 * 64 + kMisalignment;
  auto* const strip = reinterpret_cast<std::uint8_t*>(address);
  JSAMPROW rows[kStripRows];
  for (std::uint32_t i = 0; i < kStripRows; ++i) rows[i] = strip + i * stride;
  if (!whole && region.top > 0) jpeg_skip_scanlines(&jpeg_, region.top);
  while (jpeg_.output_scanline < region.top)
    jpeg_read_scanlines(&jpeg_, rows, 1);

  const std::size_t offset = std::size_t{3} * (region.left - window.left);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count;) {
      i += jpeg_read_scanlines(&jpeg_, rows + i, count - i);
    }
    if (cmyk) {
      for (std::uint32_t i = 0; i < count; ++i) {
        CmykToRgb(rows[i], window.width);
      }
    }
    sink.Rows(done, count, strip + offset, stride);
    done += count;
  }
  if (!jpeg_has_multiple_scans(&jpeg_) && !EndsWell(&jpeg_)) DecodeRest(strip);
}

void JpegDecoder::Codec::DecodeRest(JSAMPROW row) {
  while (jpeg_.output_scanline < jpeg_.output_height)
    jpeg_read_scanlines(&jpeg_, &row, 1);
  // All pixels are decoded, so the file may end here.
  source_.fill_input_buffer = SuspendAtEnd;
  jpeg_finish_decompress(&jpeg_);
}

JpegDecoder::JpegDecoder(const DecodeLimits& limits)
    : codec_(std::make_unique<Codec>(limits)) {}

JpegDecoder::~JpegDecoder() = default;

absl::StatusOr<ImageInfo> JpegDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  return codec_->Open(encoded);
}

Reduction JpegDecoder::Reduce(std::uint32_t factor) {
  return codec_->Reduce(factor);
}

absl::Status JpegDecoder::Decode(const Region& region, RowSink& sink) {
  return codec_->Decode(region, sink);
}

}  // namespace forebay::pipeline::decode
