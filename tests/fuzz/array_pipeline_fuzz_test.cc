// Fuzzes the transforms of an array, as a client describes them. The daemon
// refuses the transforms, or they make arrays of the type that the pipeline
// promises.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/workspace.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_message.h"

namespace {

using forebay::fuzz::Require;
using forebay::pipeline::ArrayTransform;
using forebay::pipeline::TensorType;
using forebay::pipeline::Workspace;
using forebay::proto::DType;

using Bytes = std::vector<std::uint8_t>;

// The largest output in bytes. A larger one would take long to fill.
constexpr std::uint64_t kMaxOutput = 1 << 18;
// The greatest number of elements of an array in a file.
constexpr std::uint64_t kLongest = 4096;
constexpr std::uint32_t kRate = 16000;  // samples per second of every array

// Whether the op is allowed, but takes too long for a fuzz test.
bool IsSlow(const forebay::proto::Op& op) {
  const auto is_slow = [](const forebay::proto::Spectrogram& spectrogram) {
    return spectrogram.n_fft() > 512 || spectrogram.pad() > 4096;
  };
  const forebay::proto::Resample& resample = op.resample();
  const auto rates =
      std::gcd(resample.orig_freq() == 0 ? kRate : resample.orig_freq(),
               resample.new_freq());
  return (rates > 0 && resample.new_freq() / rates > 500) ||
         is_slow(op.spectrogram()) ||
         is_slow(op.mel_spectrogram().spectrogram()) ||
         is_slow(op.mfcc().mel().spectrogram()) ||
         op.mel_spectrogram().n_mels() > 512 || op.mfcc().mel().n_mels() > 512;
}

std::uint64_t BytesOf(const TensorType& type) {
  std::uint64_t bytes = forebay::proto::SizeOf(type.dtype);
  for (const std::uint64_t length : type.shape) bytes *= length;
  return bytes;
}

TensorType TypeOf(DType dtype, std::vector<std::uint64_t> shape) {
  TensorType type{.dtype = dtype, .shape = std::move(shape)};
  type.bytes = BytesOf(type);
  return type;
}

void Run(const ArrayTransform& pipeline, TensorType type) {
  Require(pipeline.output().tensor.bytes == BytesOf(pipeline.output().tensor));
  if (pipeline.output().tensor.bytes > kMaxOutput) return;
  Bytes items(type.bytes);
  std::iota(items.begin(), items.end(), 0);
  // The buffer has exactly the promised size, so that sanitizers see a write
  // past its end.
  Bytes out(pipeline.output().tensor.bytes);
  static Workspace workspace({.scratch_bytes = std::uint64_t{1} << 24});
  const auto bytes = pipeline.Run(
      {.type = std::move(type), .items = items, .sample_rate = kRate},
      {.seed = 1, .epoch = 2, .sample = 3}, workspace, absl::MakeSpan(out));
  if (!bytes.ok())
    return Require(absl::IsInvalidArgument(bytes.status()) ||
                   absl::IsResourceExhausted(bytes.status()));
  Require(pipeline.output().ragged_axis.has_value() ? *bytes <= out.size()
                                                    : *bytes == out.size());
}

void Try(const ArrayTransform::Ops& ops, const TensorType& first,
         const TensorType& other, std::optional<std::uint64_t> longest) {
  const auto pipeline = ArrayTransform::Create(ops, first, longest, kRate);
  if (!pipeline.ok())
    return Require(absl::IsInvalidArgument(pipeline.status()));
  Run(**pipeline, first);
  Run(**pipeline, other);
}

}  // namespace

// The input is the transforms of an array in protobuf's text format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  forebay::proto::FieldPipeline spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!forebay::fuzz::ReadMessage(text, &spec)) return 0;
  const ArrayTransform::Ops& ops = spec.ops();
  if (std::any_of(ops.begin(), ops.end(), IsSlow)) return 0;
  const TensorType row = TypeOf(DType::kInt16, {9});
  Try(ops, row, TypeOf(DType::kInt16, {2040}), std::nullopt);
  Try(ops, row, TypeOf(DType::kInt16, {2040}), kLongest);
  Try(ops, TypeOf(DType::kFloat16, {4, 3, 5}),
      TypeOf(DType::kFloat16, {60, 3, 5}), kLongest);
  Try(ops, TypeOf(DType::kBool, {3, 7}), TypeOf(DType::kBool, {3, 900}),
      kLongest);
  Try(ops, TypeOf(DType::kFloat64, {}), row, kLongest);
  Try(ops, TypeOf(DType::kUint32, {0, 1ULL << 40}),
      TypeOf(DType::kUint32, {0, 2}), kLongest);
  Try(ops, TypeOf(DType::kInt8, {2, 0, 2, 1, 3}), row, std::nullopt);
  Try(ops, TypeOf(DType::kFloat32, {300}), TypeOf(DType::kFloat32, {2}),
      kLongest);
  Try(ops, TypeOf(DType::kFloat32, {40, 3}), TypeOf(DType::kFloat32, {300, 3}),
      kLongest);
  Try(ops, TypeOf(DType::kFloat32, {8, 2, 5}),
      TypeOf(DType::kFloat32, {90, 2, 5}), kLongest);
  Try(ops, TypeOf(DType::kFloat32, {500, 2}), row, std::nullopt);
  return 0;
}
