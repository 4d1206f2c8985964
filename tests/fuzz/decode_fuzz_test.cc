// Fuzzes the image decoders with any bytes, at any scale, as stored or upright.
// A decoder gives an image or one of its errors. It never hands over too many
// rows, and can be used again afterwards.

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "proto/raw_image.h"
#include "server/pipeline/decode/upright_decoder.h"

namespace {

namespace decode = forebay::pipeline::decode;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "decode_fuzz_test: %s\n", what);
  std::abort();
}

class CheckingSink : public decode::RowSink {
 public:
  explicit CheckingSink(const decode::Region& region) : region_(region) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override {
    Require(first_row == rows_, "rows out of order");
    Require(count > 0 && count <= region_.height - rows_, "too many rows");
    for (std::uint32_t y = 0; y < count; ++y) {
      const std::uint8_t* row = rgb + y * stride_bytes;
      for (std::size_t i = 0; i < std::size_t{3} * region_.width; ++i) {
        sum_ += row[i];
      }
    }
    rows_ += count;
  }

  std::uint32_t rows() const { return rows_; }
  // Returns a value that depends on all bytes read, so that the compiler keeps
  // the reads.
  std::uint64_t sum() const { return sum_; }

 private:
  const decode::Region region_;
  std::uint32_t rows_ = 0;
  std::uint64_t sum_ = 0;
};

bool IsExpected(const absl::Status& status) {
  return status.code() == absl::StatusCode::kDataLoss ||
         status.code() == absl::StatusCode::kResourceExhausted;
}

// Corrects a PNG's checksums, because nearly every mutation would fail at them.
void MendChecksums(std::vector<std::uint8_t>& file) {
  std::size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::size_t length = (std::size_t{file[at]} << 24) +
                               (std::size_t{file[at + 1]} << 16) +
                               (std::size_t{file[at + 2]} << 8) + file[at + 3];
    if (length > file.size() - at - 12) return;
    const uLong crc =
        crc32(0, file.data() + at + 4, static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] =
          static_cast<std::uint8_t>(crc >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

// Makes the header of a raw image smaller, and gives the image as many pixels
// as its header then says.
void MendLength(std::vector<std::uint8_t>& file) {
  forebay::proto::RawImageHeader header{};
  if (file.size() < sizeof(header)) return;
  std::memcpy(&header, file.data(), sizeof(header));
  header.width %= 100;
  header.height %= 100;
  header.channels %= 4;
  std::memcpy(file.data(), &header, sizeof(header));
  file.resize(sizeof(header) +
              std::size_t{header.width} * header.height * header.channels);
}

// Sets the sizes in a WebP file to the file's length: the file's own, and that
// of its first chunk if there is only one.
void MendSizes(std::vector<std::uint8_t>& file) {
  // Bytes of the file's and the chunk's headers.
  constexpr std::size_t kHeaders = 20;
  if (file.size() < kHeaders) return;
  if (file.size() % 2 != 0) file.push_back(0);
  const auto put = [&file](std::size_t at, std::size_t size) {
    for (std::size_t i = 0; i < 4; ++i)
      file[at + i] = static_cast<std::uint8_t>(size >> (8 * i));
  };
  put(4, file.size() - 8);
  if (file[15] != 'X') put(16, file.size() - kHeaders);
}

// Returns a region that depends on the file alone.
decode::Region ChooseRegion(std::uint32_t width, std::uint32_t height,
                            std::uint32_t hash) {
  decode::Region region;
  region.left = hash % width;
  region.top = (hash >> 8) % height;
  region.width = 1 + (hash >> 16) % (width - region.left);
  region.height = 1 + (hash >> 24) % (height - region.top);
  return region;
}

void Decode(absl::Span<const std::uint8_t> file, bool upright) {
  static auto* decoder = new decode::UprightDecoder(
      decode::DecodeLimits{.max_pixels = 1 << 20, .scratch_bytes = 16 << 20});
  const auto info = upright ? decoder->OpenUpright(file) : decoder->Open(file);
  if (!info.ok()) {
    Require(IsExpected(info.status()), "an unexpected error of Open");
    return;
  }
  Require(info->width > 0 && info->height > 0, "an empty image");
  Require(std::uint64_t{info->width} * info->height <= 1 << 20, "too large");
  const auto hash = static_cast<std::uint32_t>(
      crc32(0, file.data(), static_cast<uInt>(file.size())));
  decode::Reduction scale;
  const std::uint32_t factor = 1U << (hash >> 13 & 3U);
  if (factor > 1) scale = decoder->Reduce(factor);
  Require(scale.factor == 1 || scale.factor == factor, "another scale");
  Require(scale.left < scale.factor && scale.top < scale.factor,
          "an image that begins elsewhere");
  const decode::Region region = ChooseRegion(scale.Reduced(info->width),
                                             scale.Reduced(info->height), hash);
  CheckingSink sink(region);
  const absl::Status status = decoder->Decode(region, sink);
  Require(status.ok() ? sink.rows() == region.height : IsExpected(status),
          "an unexpected end of Decode");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  Decode({data, size}, /*upright=*/false);
  if (size <= 8) return 0;
  // A mended copy passes the checks that would stop most mutations early.
  std::vector<std::uint8_t> mended(data, data + size);
  if (data[0] == 0x89) {
    MendChecksums(mended);
  } else if (data[0] == 0x8f) {
    MendLength(mended);
  } else if (data[0] == 'R') {
    MendSizes(mended);
  } else {
    mended.insert(mended.end(), {0xff, 0xd9});
  }
  Decode(mended, /*upright=*/true);
  return 0;
}
