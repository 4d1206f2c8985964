// Reads epochs of a folder of class folders, as a trainer would, and prints how
// fast they come: example FOLDER [EPOCHS]

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cpp/forebay.hpp"

namespace {

// Returns the pipeline of a classifier: RandomResizedCrop(224), a flip, and
// pixels from 0 to 1 as float32, NCHW.
forebay::Pipeline MakePipeline() {
  forebay::Pipeline pipeline;
  forebay::Check(forebay_pipeline_add_random_resized_crop(
      pipeline.get(), 224, 224, {0.08, 1.0}, {3.0 / 4, 4.0 / 3},
      FOREBAY_BILINEAR));
  forebay::Check(
      forebay_pipeline_add_random_horizontal_flip(pipeline.get(), 0.5));
  forebay::Check(forebay_pipeline_add_to_dtype(pipeline.get(), FOREBAY_FLOAT32,
                                               /*scale=*/1));
  return pipeline;
}

// Returns the sum of all pixels, so that each byte of the batch is read.
double Sum(const forebay_field& image) {
  const auto* const pixels = static_cast<const float*>(image.data);
  double sum = 0;
  for (std::uint64_t i = 0; i < image.bytes / sizeof(float); ++i)
    sum += pixels[i];
  return sum;
}

// Reads one epoch. If the daemon restarts meanwhile, Next waits for the new
// daemon and goes on.
void ReadEpoch(forebay::Loader& loader, std::uint64_t epoch) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> of_class(loader.info().class_count);
  std::uint64_t samples = 0;
  double sum = 0;
  std::uint64_t pixels = 0;
  loader.StartEpoch(epoch);
  while (const auto batch = loader.Next()) {
    const forebay_field image = batch->field("image");
    sum += Sum(image);
    pixels += image.bytes / sizeof(float);
    const forebay_field label = batch->field("label");
    for (std::uint64_t i = 0; i < batch->size(); ++i)
      ++of_class[static_cast<const std::int64_t*>(label.data)[i]];
    samples += batch->size();
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  std::printf("epoch %llu: %llu images, mean %.6f, %.0f images/s;",
              static_cast<unsigned long long>(epoch),
              static_cast<unsigned long long>(samples), sum / pixels,
              samples / seconds.count());
  for (std::uint64_t label = 0; label < of_class.size(); ++label)
    std::printf(" %s %llu", loader.class_name(label).c_str(),
                static_cast<unsigned long long>(of_class[label]));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER [EPOCHS]\n", argv[0]);
    return 2;
  }
  const std::uint64_t epochs =
      argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1;
  try {
    // Loaders with equal keys are one job to the daemon.
    const std::string job = "example-" + std::to_string(getpid());
    forebay_loader_options options = forebay::DefaultOptions();
    options.job_key = job.c_str();
    options.uri = argv[1];
    options.order = FOREBAY_SHUFFLE;
    options.batch_size = 64;
    forebay::Loader loader(options, MakePipeline());
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
      ReadEpoch(loader, epoch);
    const forebay_loader_stats stats = loader.stats();
    std::printf("%.1f MB delivered, %.3f s waited for them\n",
                stats.bytes_delivered / 1e6, stats.wait_nanos / 1e9);
  } catch (const forebay::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
