#ifndef FOREBAY_TESTS_BENCH_BARE_JPEG_H_
#define FOREBAY_TESTS_BENCH_BARE_JPEG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace forebay::bench {

// A crop of a JPEG whose encoded bytes are in memory; lengths are in pixels.
struct Crop {
  std::shared_ptr<const std::vector<std::uint8_t>> encoded;
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // The image is decoded at 1/factor of its size. All lengths of the crop are
  // pixels of the image at that size.
  std::uint32_t factor = 1;
};

// Reads lines "path left top width height" (the path may contain spaces) from
// `file` ("-": standard input) and loads each file once. If it cannot, prints a
// message and ends the process.
std::vector<Crop> LoadCrops(const std::string& file);

// Scales each crop down by 8, 4 or 2. Takes the largest factor that leaves the
// crop at least as large as `side`.
void Reduce(std::vector<Crop>& crops, std::uint32_t side);

enum class Output {
  kWholeImage,  // stores each row at its own place of a buffer
  kReusedRow,  // stores every row over the previous one, in a misaligned buffer
};

// Decodes crops by libjpeg-turbo, and does nothing else. Each thread has a
// BareJpeg of its own, which reuses its decompressor. Crops are not widened, so
// pixels near their edges may differ from a full decode's.
class BareJpeg {
 public:
  BareJpeg();
  ~BareJpeg();
  BareJpeg(const BareJpeg&) = delete;
  BareJpeg& operator=(const BareJpeg&) = delete;

  // Decodes a crop. Ends the process at an error of libjpeg: the benchmark's
  // files are sound.
  void Decode(const Crop& crop, Output output);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay::bench

#endif  // FOREBAY_TESTS_BENCH_BARE_JPEG_H_
