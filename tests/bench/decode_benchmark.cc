// Compares our JPEG decoder with the bare codec in processor time. Both decode
// the same crops in turn, on one thread. Ours also decodes the margin that
// exact pixels need around each crop. It hands strips to a sink that reads each
// of their cache lines. Prints one JSON object.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/pipeline/decode/any_image_decoder.h"
#include "tests/bench/bare_jpeg.h"

namespace {

using forebay::bench::BareJpeg;
using forebay::bench::Crop;
using forebay::bench::Output;
using forebay::pipeline::decode::AnyImageDecoder;
using forebay::pipeline::decode::DecodeLimits;
using forebay::pipeline::decode::Region;
using forebay::pipeline::decode::RowSink;

constexpr int kPasses = 7;

// A sink that reads each cache line of a strip.
class TouchingSink : public RowSink {
 public:
  explicit TouchingSink(std::uint32_t width)
      : row_bytes_(std::size_t{3} * width) {}

  void Rows(std::uint32_t, std::uint32_t count, const std::uint8_t* rgb,
            std::size_t stride_bytes) override {
    for (std::uint32_t y = 0; y < count; ++y, rgb += stride_bytes) {
      for (std::size_t i = 0; i < row_bytes_; i += 64) sum_ += rgb[i];
    }
  }

  std::uint64_t sum() const { return sum_; }

 private:
  const std::size_t row_bytes_;
  std::uint64_t sum_ = 0;
};

std::uint64_t DecodeOurs(AnyImageDecoder& decoder, const Crop& crop) {
  TouchingSink sink(crop.width);
  if (!decoder.Open(*crop.encoded).ok() ||
      !decoder
           .Decode(Region{crop.left, crop.top, crop.width, crop.height}, sink)
           .ok()) {
    std::fprintf(stderr, "decode_benchmark: a file is not sound\n");
    std::exit(1);
  }
  return sink.sum();
}

// Returns the processor time that `decode` takes in this process.
template <typename Function>
double Microseconds(Function decode) {
  timespec start;
  timespec end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  decode();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - start.tv_sec) * 1e6 +
         static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-3;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Crop> crops =
      forebay::bench::LoadCrops(argc > 1 ? argv[1] : "-");
  BareJpeg bare;
  AnyImageDecoder ours{DecodeLimits{}};
  std::uint64_t sum = 0;
  std::vector<double> whole_us;
  std::vector<double> row_us;
  std::vector<double> ours_us;
  for (int pass = 0; pass <= kPasses; ++pass) {
    double whole = 0;
    double row = 0;
    double own = 0;
    for (const Crop& crop : crops) {
      whole += Microseconds([&] { bare.Decode(crop, Output::kWholeImage); });
      own += Microseconds([&] { sum += DecodeOurs(ours, crop); });
      row += Microseconds([&] { bare.Decode(crop, Output::kReusedRow); });
    }
    if (pass == 0) continue;  // warms caches and clocks
    const auto count = static_cast<double>(crops.size());
    whole_us.push_back(whole / count);
    row_us.push_back(row / count);
    ours_us.push_back(own / count);
  }
  const double floor = std::min(Median(whole_us), Median(row_us));
  std::printf(
      "{\"crops\": %zu, \"bare_whole_image_us\": %.1f, \"bare_reused_row_us\": "
      "%.1f, \"ours_us\": %.1f, \"ours_to_floor\": %.3f, \"sum\": %llu}\n",
      crops.size(), Median(whole_us), Median(row_us), Median(ours_us),
      Median(ours_us) / floor, static_cast<unsigned long long>(sum));
  return 0;
}
