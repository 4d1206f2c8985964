#include "tests/integration/cpp/reading.h"

#include <algorithm>
#include <numeric>

#include "tests/catch/catch.h"

namespace cpp_user {

forebay_loader_options OptionsFor(const Daemon& daemon,
                                  const std::string& uri) {
  forebay_loader_options options = forebay::DefaultOptions();
  options.runtime_dir = daemon.runtime_dir().c_str();
  options.job_key = "a C++ program";
  options.uri = uri.c_str();
  options.batch_size = 4;
  return options;
}

forebay::Pipeline WholePictures() {
  forebay::Pipeline pipeline;
  forebay::Check(
      forebay_pipeline_add_center_crop(pipeline.get(), kHeight, kWidth));
  forebay::Check(forebay_pipeline_add_to_image(pipeline.get(), FOREBAY_NHWC));
  return pipeline;
}

forebay::Pipeline RandomCrops() {
  forebay::Pipeline pipeline;
  forebay::Check(forebay_pipeline_add_random_resized_crop(
      pipeline.get(), 16, 16, {0.08, 1.0}, {3.0 / 4, 4.0 / 3},
      FOREBAY_BILINEAR));
  forebay::Check(
      forebay_pipeline_add_random_horizontal_flip(pipeline.get(), 0.5));
  forebay::Check(forebay_pipeline_add_to_dtype(pipeline.get(), FOREBAY_FLOAT32,
                                               /*scale=*/1));
  return pipeline;
}

std::vector<std::int64_t> IdsOf(const forebay::Batch& batch) {
  const forebay_field field = batch.field("sample_id");
  const auto* const ids = static_cast<const std::int64_t*>(field.data);
  return {ids, ids + batch.size()};
}

std::uint32_t SumOf(const forebay::Batch& batch) {
  std::vector<std::uint32_t> sums;
  const std::uint32_t count = batch.info().field_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const forebay_field field = batch.field(i);
    sums.push_back(Crc32(field.data, field.bytes));
  }
  return Crc32(sums.data(), sums.size() * sizeof sums[0]);
}

bool operator==(const Epoch& a, const Epoch& b) {
  return a.ids == b.ids && a.sums == b.sums;
}

Epoch ReadRest(forebay::Loader& loader) {
  Epoch read;
  while (const auto batch = loader.Next()) {
    const std::vector<std::int64_t> ids = IdsOf(*batch);
    read.ids.insert(read.ids.end(), ids.begin(), ids.end());
    read.sums.push_back(SumOf(*batch));
  }
  return read;
}

Epoch ReadEpoch(forebay::Loader& loader, std::uint64_t epoch,
                std::uint64_t first_sample) {
  loader.StartEpoch(epoch, first_sample);
  return ReadRest(loader);
}

std::vector<std::int64_t> Numbers(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<std::int64_t> Sorted(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Failure OpeningOf(const forebay_loader_options& options,
                  const forebay::Pipeline& pipeline) {
  return FailureOf([&] { forebay::Loader loader(options, pipeline); });
}

forebay_loader* OpenInC(const forebay_loader_options& options,
                        const forebay::Pipeline& pipeline) {
  forebay_loader* loader = nullptr;
  REQUIRE(forebay_loader_create(&options, pipeline.get(), &loader) ==
          FOREBAY_OK);
  REQUIRE(forebay_loader_open(loader, -1) == FOREBAY_OK);
  return loader;
}

}  // namespace cpp_user
