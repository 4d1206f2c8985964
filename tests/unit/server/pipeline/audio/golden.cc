#include "tests/unit/server/pipeline/audio/golden.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "server/pipeline/array_transform.h"
#include "server/pipeline/workspace.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline::audio {

using tests::IsOk;

Clip::Clip(std::vector<std::uint64_t> shape, std::vector<float> all,
           std::uint32_t rate)
    : values(std::move(all)) {
  const std::uint64_t bytes = values.size() * sizeof(float);
  array.type = {.dtype = proto::DType::kFloat32,
                .shape = std::move(shape),
                .bytes = bytes};
  array.items = {reinterpret_cast<const std::uint8_t*>(values.data()), bytes};
  array.sample_rate = rate;
}

std::string GoldenText(const std::string& name) {
  std::ifstream file("tests/golden/audio_ops/" + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

std::vector<float> GoldenFloats(const std::string& name) {
  const std::string bytes = GoldenText(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Clip GoldenClip(const std::string& name) {
  std::vector<float> values = GoldenFloats(name + ".bin");
  std::vector<std::uint64_t> shape = {values.size()};
  if (name == "stereo") shape = {values.size() / 2, 2};
  return Clip(std::move(shape), std::move(values));
}

std::vector<float> Transformed(const std::string& ops, const Array& array,
                               const SampleKey& key) {
  const auto made = ArrayTransform::Create(Spec(ops).ops(), array.type,
                                           std::nullopt, array.sample_rate);
  CHECK_THAT(made, IsOk());
  if (!made.ok()) return {};
  Workspace workspace({});
  std::vector<float> out((*made)->output().tensor.bytes / sizeof(float));
  const auto bytes = (*made)->Run(array, key, workspace,
                                  {reinterpret_cast<std::uint8_t*>(out.data()),
                                   out.size() * sizeof(float)});
  CHECK_THAT(bytes, IsOk());
  return out;
}

}  // namespace forebay::pipeline::audio
