#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

struct GoldenPixel {
  std::uint32_t x, y;
  std::uint8_t rgb[3];
};

// A line of golden.txt, which describes an image as Pillow decodes it.
struct GoldenImage {
  std::string name;
  std::uint32_t width, height;
  std::uint32_t crc;  // of all pixels, RGB, row by row
  std::vector<GoldenPixel> pixels;
};

std::vector<GoldenImage> GoldenImages();
// Returns the names of images that Pillow refuses.
std::vector<std::string> RefusedImages();
std::vector<std::uint8_t> GoldenFile(const std::string& name);

// Decodes only the top row.
absl::Status DecodeTop(ImageDecoder& decoder,
                       const std::vector<std::uint8_t>& file);

// The lengths to which files are cut: `first` bytes, and then every `step`
// bytes more, except in the last `unneeded` bytes.
struct Cuts {
  std::size_t first = 0;
  std::size_t step = 3;
  std::size_t unneeded = 0;
};
// Cuts each golden file as `cuts` says, and expects DATA_LOSS, although only
// the top row is decoded.
void ExpectTruncationsFound(ImageDecoder& decoder,
                            const std::vector<std::string>& names,
                            const Cuts& cuts);

// A sink that stores a region's rows without gaps, and checks that they come in
// order.
class PixelSink : public RowSink {
 public:
  explicit PixelSink(const Region& region) : region_(region) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override;

  const std::vector<std::uint8_t>& pixels() const { return pixels_; }
  std::uint32_t rows() const { return rows_; }

 private:
  const Region region_;
  std::uint32_t rows_ = 0;
  // The sum of the padding bytes, which a sink is allowed to read.
  unsigned padding_sum_ = 0;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_
