// Fuzzes a pipeline as a client describes it. The daemon refuses the pipeline,
// or the pipeline fills its output from an image. It makes the same bytes from
// the cached variant of that image. A pipeline with user code fills its output
// whatever that code leaves.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "proto/raw_image.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/user_code.h"
#include "server/pipeline/workspace.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_message.h"

namespace {

using forebay::fuzz::Require;
using forebay::pipeline::Pipeline;
using forebay::pipeline::SampleKey;
using forebay::pipeline::UserCode;
using forebay::pipeline::VariantTarget;
using forebay::pipeline::Workspace;

using Bytes = std::vector<std::uint8_t>;

// The largest output in bytes. A larger one would take long to fill.
constexpr std::uint64_t kMaxOutput = 1 << 16;
constexpr std::uint64_t kScratch = 1 << 22;

Bytes Image(std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  const forebay::proto::RawImageHeader header = {forebay::proto::kRawImageMagic,
                                                 width, height, channels};
  Bytes image(sizeof(header) + std::size_t{width} * height * channels);
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<std::uint8_t>(i * 37 + i / 7);
  }
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

class KeptForm final : public VariantTarget {
 public:
  absl::Span<std::uint8_t> RoomFor(std::uint64_t bytes) override {
    if (bytes > kScratch) return {};
    variant.resize(bytes);
    return absl::MakeSpan(variant);
  }
  void Filled() override { filled = true; }

  Bytes variant;
  bool filled = false;
};

Workspace* OwnWorkspace() {
  static auto* const workspace =
      new Workspace({.max_pixels = 1 << 16, .scratch_bytes = kScratch});
  return workspace;
}

void Run(const Pipeline& pipeline, const Bytes& image, std::uint64_t sample) {
  Workspace* const workspace = OwnWorkspace();
  const SampleKey key = {.seed = 1, .epoch = 2, .sample = sample};
  Bytes plain(pipeline.output().bytes, 1);
  const absl::Status status =
      pipeline.Run(image, key, *workspace, absl::MakeSpan(plain));
  Require(status.ok() || absl::IsResourceExhausted(status) ||
          absl::IsInvalidArgument(status));
  KeptForm kept;
  Bytes keeping(plain.size(), 2);
  const absl::Status again = pipeline.RunAndKeep(image, key, *workspace,
                                                 absl::MakeSpan(keeping), kept);
  if (!status.ok() || !again.ok()) return;
  Require(keeping == plain);
  if (!kept.filled) return;
  Bytes from_form(plain.size(), 3);
  const absl::Status third = pipeline.RunFromVariant(
      kept.variant, key, *workspace, absl::MakeSpan(from_form));
  Require(third.ok() ? from_form == plain : absl::IsResourceExhausted(third));
}

// Runs a pipeline whose user code leaves garbage.
void RunCoded(const Pipeline& pipeline, absl::Span<const std::uint8_t> image,
              std::uint64_t sample) {
  const UserCode& code = *pipeline.user_code();
  if (code.user_buffer_bytes() > kMaxOutput) return;
  Workspace* const workspace = OwnWorkspace();
  const SampleKey key = {.seed = 1, .epoch = 2, .sample = sample};
  Bytes user_buffer(code.user_buffer_bytes(), 1);
  const absl::Status status = pipeline.Run(
      image, key, *workspace, code.Input(absl::MakeSpan(user_buffer)));
  Require(status.ok() || absl::IsResourceExhausted(status) ||
          absl::IsInvalidArgument(status));
  std::fill(user_buffer.begin(), user_buffer.end(), 0xee);
  Bytes out(pipeline.output().bytes, 2);
  const absl::Status after = code.RunAfter(absl::MakeSpan(user_buffer), key,
                                           *workspace, absl::MakeSpan(out));
  Require(after.ok() || absl::IsResourceExhausted(after) ||
          absl::IsInvalidArgument(after));
}

}  // namespace

// The input is a PipelineSpec in protobuf's text format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  forebay::proto::PipelineSpec spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!forebay::fuzz::ReadMessage(text, &spec)) return 0;
  const auto pipeline = Pipeline::Create(spec);
  if (!pipeline.ok()) {
    Require(absl::IsInvalidArgument(pipeline.status()));
    return 0;
  }
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : (*pipeline)->output().shape) {
    elements *= extent;
  }
  Require((*pipeline)->output().bytes ==
          elements * forebay::proto::SizeOf((*pipeline)->output().dtype));
  if ((*pipeline)->output().bytes > kMaxOutput) return 0;
  static const Bytes* const color = new Bytes(Image(37, 23, 3));
  static const Bytes* const gray = new Bytes(Image(5, 61, 1));
  if ((*pipeline)->user_code() != nullptr) {
    RunCoded(**pipeline, *color, 3);
    RunCoded(**pipeline, *gray, 4);
    return 0;
  }
  Run(**pipeline, *color, 3);
  Run(**pipeline, *gray, 4);
  return 0;
}
