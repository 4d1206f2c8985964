// Measures the cost of turning one photograph into a tensor, and the part of it
// that is decoding. $FOREBAY_BENCH_PHOTOS names a folder of JPEGs.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "proto/shm_layout.h"
#include "server/pipeline/decode/any_image_decoder.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/transform/draws.h"
#include "tests/unit/server/pipeline/image/recording_target.h"

namespace forebay::pipeline {
namespace {

constexpr std::size_t kMaxPhotos = 1000;
constexpr std::uint64_t kSlotSamples = 64;

using Bytes = std::vector<std::uint8_t>;

const std::vector<Bytes>& Photos() {
  static const auto* photos = [] {
    auto* all = new std::vector<Bytes>;
    const char* folder = std::getenv("FOREBAY_BENCH_PHOTOS");
    if (folder == nullptr) return all;
    std::vector<std::string> paths;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    if (paths.size() > kMaxPhotos) paths.resize(kMaxPhotos);
    for (const std::string& path : paths) {
      std::ifstream file(path, std::ios::binary);
      all->emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
    }
    return all;
  }();
  return *photos;
}

proto::PipelineSpec Spec(proto::DataType dtype, bool nhwc) {
  proto::PipelineSpec spec;
  auto* crop = spec.add_ops()->mutable_random_resized_crop();
  crop->set_height(224);
  crop->set_width(224);
  crop->set_scale_min(0.08);
  crop->set_scale_max(1);
  crop->set_ratio_min(3.0 / 4);
  crop->set_ratio_max(4.0 / 3);
  spec.add_ops()->mutable_random_horizontal_flip()->set_p(0.5);
  if (nhwc)
    spec.add_ops()->mutable_to_image()->set_layout(proto::ToImage::NHWC);
  if (dtype == proto::UINT8) return spec;
  auto* convert = spec.add_ops()->mutable_to_dtype();
  convert->set_dtype(proto::FLOAT32);
  convert->set_scale(true);
  auto* normalize = spec.add_ops()->mutable_normalize();
  for (const double mean : {0.485, 0.456, 0.406}) normalize->add_mean(mean);
  for (const double std : {0.229, 0.224, 0.225}) normalize->add_std(std);
  if (dtype != proto::FLOAT32)
    spec.add_ops()->mutable_to_dtype()->set_dtype(dtype);
  return spec;
}

// Tensors that fill a slot, aligned as a slot's fields are. The slot has
// several samples, so that the memory to be written next is not in the CPU's
// cache.
struct Slot {
  explicit Slot(std::uint64_t bytes)
      : sample_bytes(bytes),
        memory(kSlotSamples * bytes + proto::kFieldAlignment) {}
  absl::Span<std::uint8_t> Place(std::uint64_t i) {
    auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    address += proto::kFieldAlignment - address % proto::kFieldAlignment;
    return {reinterpret_cast<std::uint8_t*>(address) +
                i % kSlotSamples * sample_bytes,
            sample_bytes};
  }
  std::uint64_t sample_bytes;
  Bytes memory;
};

void WholeRun(benchmark::State& state) {
  const auto& photos = Photos();
  if (photos.empty()) {
    state.SkipWithError("FOREBAY_BENCH_PHOTOS names no folder of photographs");
    return;
  }
  const auto dtype = static_cast<proto::DataType>(state.range(0));
  auto pipeline = Pipeline::Create(Spec(dtype, state.range(1) != 0));
  if (!pipeline.ok()) return state.SkipWithError("the pipeline is refused");
  Workspace workspace{WorkspaceLimits()};
  Slot slot((*pipeline)->output().bytes);
  std::uint64_t i = 0;
  for (auto _ : state) {
    const SampleKey key{0, 0, i % photos.size()};
    const Bytes& photo = photos[i % photos.size()];
    const absl::Status status =
        (*pipeline)->Run(photo, key, workspace, slot.Place(i));
    if (!status.ok()) return state.SkipWithError("a photograph is refused");
    ++i;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WholeRun)
    ->ArgNames({"dtype", "nhwc"})
    ->Args({proto::FLOAT32, 0})
    ->Args({proto::FLOAT32, 1})
    ->Args({proto::FLOAT16, 0})
    ->Args({proto::BFLOAT16, 0})
    ->Args({proto::UINT8, 0})
    ->Args({proto::UINT8, 1})
    ->Iterations(4000);

class Ignore final : public decode::RowSink {
 public:
  void Rows(std::uint32_t, std::uint32_t, const std::uint8_t* rgb,
            std::size_t) override {
    benchmark::DoNotOptimize(*rgb);
  }
};

// Runs our decoder alone, on the crops that WholeRun decodes.
void DecodeOnly(benchmark::State& state) {
  const auto& photos = Photos();
  if (photos.empty()) {
    state.SkipWithError("FOREBAY_BENCH_PHOTOS names no folder of photographs");
    return;
  }
  proto::RandomResizedCrop message;
  message.set_height(224);
  message.set_width(224);
  message.set_scale_min(0.08);
  message.set_scale_max(1);
  message.set_ratio_min(3.0 / 4);
  message.set_ratio_max(4.0 / 3);
  const auto crop = image::OpOf(message);
  decode::AnyImageDecoder decoder{decode::DecodeLimits()};
  Ignore ignore;
  std::uint64_t i = 0;
  for (auto _ : state) {
    const std::uint64_t sample = i++ % photos.size();
    const auto info = decoder.Open(photos[sample]);
    if (!info.ok()) return state.SkipWithError("a photograph is refused");
    transform::PhiloxDraws draws({0, 0, sample}, 0);
    const auto changes =
        image::ChangesBy(*crop, {info->width, info->height}, draws);
    if (!changes.ok()) return state.SkipWithError("no window");
    const transform::CropWindow window = changes->windows.front();
    const absl::Status status =
        decoder.Decode({static_cast<std::uint32_t>(window.left),
                        static_cast<std::uint32_t>(window.top),
                        static_cast<std::uint32_t>(window.width),
                        static_cast<std::uint32_t>(window.height)},
                       ignore);
    if (!status.ok()) return state.SkipWithError("a photograph is refused");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(DecodeOnly)->Iterations(4000);

}  // namespace
}  // namespace forebay::pipeline

BENCHMARK_MAIN();
