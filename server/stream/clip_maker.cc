#include "server/stream/clip_maker.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/audio/any_clip_decoder.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

// Returns the bytes as floats, without bytes at the end that make no whole
// float. The memory must be aligned for floats.
absl::Span<float> AsFloats(absl::Span<std::uint8_t> bytes) {
  return absl::MakeSpan(reinterpret_cast<float*>(bytes.data()),
                        bytes.size() / sizeof(float));
}

bool IsAligned(absl::Span<std::uint8_t> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
}

absl::Status NoRoom(std::uint64_t bytes, std::uint64_t room) {
  return absl::DataLossError(
      absl::StrCat("becomes ", bytes, " bytes, more than the ", room,
                   " that files of its size usually do: take a part of it by "
                   "Slice or RandomWindow"));
}

}  // namespace

absl::StatusOr<std::uint64_t> MakeClip(const pipeline::ArrayTransform& pipeline,
                                       absl::Span<const std::uint8_t> file,
                                       const pipeline::SampleKey& key,
                                       pipeline::Workspace& workspace,
                                       absl::Span<std::uint8_t> out) {
  audio::AnyClipDecoder decoder;
  FOREBAY_ASSIGN_OR_RETURN(const audio::ClipInfo clip, decoder.Open(file));
  // The bytes of a frame.
  const std::uint64_t each = clip.channels * sizeof(float);
  pipeline::Array array;
  array.type = {.dtype = proto::DType::kFloat32,
                .shape = {clip.frames, clip.channels},
                .bytes = clip.frames * each};
  array.sample_rate = clip.sample_rate;
  FOREBAY_ASSIGN_OR_RETURN(const pipeline::AxisPart part,
                           pipeline.PartFor(array, key));
  const std::uint64_t bytes = part.length * each;
  // A window that is not padded may be smaller than `out`. It is decoded into
  // the first bytes of `out`.
  if (pipeline.TakesPartAlone(part) && IsAligned(out)) {
    if (bytes > out.size()) return NoRoom(bytes, out.size());
    FOREBAY_RETURN_IF_ERROR(
        decoder.Decode(part.begin, AsFloats(out.first(bytes))));
    return bytes;
  }
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> room,
                           workspace.RoomToDecompress(bytes));
  FOREBAY_RETURN_IF_ERROR(decoder.Decode(part.begin, AsFloats(room)));
  array.items = room;
  array.first = part.begin;
  return pipeline.Run(array, key, workspace, out);
}

}  // namespace forebay::stream
