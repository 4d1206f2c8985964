#include "tests/unit/server/dataset/tfrecord/example_builder.h"

#include <bit>
#include <protozero/pbf_writer.hpp>

#include "server/base/crc32c.h"

namespace forebay::dataset::tfrecord {
namespace {

using protozero::pbf_writer;

std::string Message(std::uint32_t number, const std::string& content) {
  std::string message;
  pbf_writer(message).add_message(number, content);
  return message;
}

std::string Map(const Named& entries) {
  std::string map;
  for (const auto& [name, value] : entries) {
    std::string entry;
    pbf_writer writer(entry);
    writer.add_string(1, name);
    writer.add_message(2, value);
    map += Message(1, entry);
  }
  return map;
}

template <typename Number>
std::string Raw(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::string Masked(std::string_view bytes) {
  return Raw(std::rotr(base::Crc32c(AsBytes(bytes)), 15) + 0xa282ead8);
}

}  // namespace

std::string BytesFeature(const std::vector<std::string>& values) {
  std::string list;
  pbf_writer writer(list);
  for (const std::string& value : values) writer.add_bytes(1, value);
  return Message(1, list);
}

std::string FloatFeature(const std::vector<float>& values, bool compressed) {
  std::string list;
  pbf_writer writer(list);
  if (compressed) writer.add_packed_float(1, values.begin(), values.end());
  for (std::size_t i = 0; !compressed && i < values.size(); ++i)
    writer.add_float(1, values[i]);
  return Message(2, list);
}

std::string Int64Feature(const std::vector<std::int64_t>& values,
                         bool compressed) {
  std::string list;
  pbf_writer writer(list);
  if (compressed) writer.add_packed_int64(1, values.begin(), values.end());
  for (std::size_t i = 0; !compressed && i < values.size(); ++i)
    writer.add_int64(1, values[i]);
  return Message(3, list);
}

std::string FeatureList(const std::vector<std::string>& features) {
  std::string list;
  for (const std::string& feature : features) list += Message(1, feature);
  return list;
}

std::string Example(const Named& features) { return Message(1, Map(features)); }

std::string SequenceExample(const Named& context, const Named& lists) {
  return Message(1, Map(context)) + Message(2, Map(lists));
}

std::string Frame(std::string_view payload) {
  const std::string length = Raw(std::uint64_t{payload.size()});
  return length + Masked(length) + std::string(payload) + Masked(payload);
}

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace forebay::dataset::tfrecord
