// Reads one epoch of a folder of photographs: example FOLDER

#include <unistd.h>

#include <cstdio>
#include <string>

#include "client/cpp/forebay.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  try {
    forebay::Pipeline pipeline;
    forebay::Check(forebay_pipeline_add_random_resized_crop(
        pipeline.get(), 224, 224, {0.08, 1.0}, {3.0 / 4, 4.0 / 3},
        FOREBAY_BILINEAR));
    forebay::Check(forebay_pipeline_add_to_dtype(pipeline.get(),
                                                 FOREBAY_FLOAT32, /*scale=*/1));

    const std::string job = "example-" + std::to_string(getpid());
    forebay_loader_options options = forebay::DefaultOptions();
    options.job_key = job.c_str();
    options.uri = argv[1];
    options.order = FOREBAY_SHUFFLE;
    options.batch_size = 64;
    forebay::Loader loader(options, pipeline);

    loader.StartEpoch(0);
    std::uint64_t samples = 0;
    double sum = 0;
    while (const auto batch = loader.Next()) {
      const forebay_field image = batch->field("image");
      const auto* const pixels = static_cast<const float*>(image.data);
      for (std::uint64_t i = 0; i < image.bytes / sizeof(float); ++i)
        sum += pixels[i] / (3 * 224 * 224);
      samples += batch->size();
    }
    std::printf("%llu images, mean %.4f\n",
                static_cast<unsigned long long>(samples), sum / samples);
  } catch (const forebay::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
