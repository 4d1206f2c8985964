#include "server/dataset/hdf5/filters.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kMostFilters = 32;  // bits of a mask
constexpr std::size_t kChecksum = 4;

struct KnownName {
  std::uint64_t number;
  std::string_view name;
};
// Those that users are likely to have, for errors.
constexpr KnownName kOthers[] = {
    {4, "szip"},      {5, "nbit"},       {6, "scaleoffset"},    {307, "bzip2"},
    {32001, "blosc"}, {32004, "lz4"},    {32008, "bitshuffle"}, {32013, "zfp"},
    {32015, "zstd"},  {32026, "blosc2"},
};

absl::Status Damaged() {
  return absl::DataLossError("is damaged: its filters contradict themselves");
}

absl::Status NotRead(std::uint64_t number, Bytes written_name) {
  std::string name(written_name.begin(), written_name.end());
  name.resize(std::min(name.find('\0'), name.size()));
  for (const KnownName& known : kOthers) {
    if (known.number == number) name = std::string(known.name);
  }
  return absl::UnimplementedError(
      absl::StrCat("is written with the filter ", number,
                   name.empty() ? "" : absl::StrCat(" (", name, ")"),
                   "; gzip, lzf, shuffle and fletcher32 can be read"));
}

// Each of these fills the front of a room, and returns that.

// Inflates a zlib stream.
absl::StatusOr<Bytes> Inflate(Bytes packed, absl::Span<std::uint8_t> room) {
  if (packed.size() > std::numeric_limits<uInt>::max() ||
      room.size() > std::numeric_limits<uInt>::max())
    return absl::DataLossError("is too long for zlib");
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK)
    return absl::ResourceExhaustedError("there is no memory to inflate with");
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  // zlib reads there alone; its type is older than const.
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = room.data();
  stream.avail_out = static_cast<uInt>(room.size());
  if (packed.empty() || inflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return absl::DataLossError(absl::StrCat(
        "its deflated data is damaged",
        stream.msg == nullptr ? "" : absl::StrCat(" (", stream.msg, ")")));
  }
  return room.first(room.size() - stream.avail_out);
}

absl::Status LzfDamaged() {
  return absl::DataLossError("its LZF data is damaged");
}

// A byte below 32 says how many literal bytes follow, less one. Else it begins
// a reference: three bits of a length, and five of a distance.
absl::StatusOr<Bytes> UnpackLzf(Bytes packed, absl::Span<std::uint8_t> room) {
  constexpr std::uint64_t kLiterals = 32;
  std::size_t made = 0;  // bytes
  Cursor cursor(packed);
  while (!cursor.rest().empty()) {
    const std::uint64_t control = cursor.Take(1);
    if (control < kLiterals) {
      const Bytes bytes = cursor.TakeBytes(control + 1);
      if (!cursor.ok() || bytes.size() > room.size() - made)
        return LzfDamaged();
      std::copy(bytes.begin(), bytes.end(), room.data() + made);
      made += bytes.size();
      continue;
    }
    std::uint64_t length = control >> 5;
    if (length == 7) length += cursor.Take(1);
    length += 2;
    const std::uint64_t distance = (control & 31) * 256 + cursor.Take(1) + 1;
    if (!cursor.ok() || distance > made || length > room.size() - made)
      return LzfDamaged();
    // A copy may go on into itself.
    for (std::uint64_t i = 0; i < length; ++i, ++made)
      room[made] = room[made - distance];
  }
  return room.first(made);
}

absl::StatusOr<Bytes> Unshuffle(Bytes shuffled, std::size_t element,
                                absl::Span<std::uint8_t> room) {
  if (element == 0 || shuffled.size() > room.size()) return Damaged();
  const std::size_t count = shuffled.size() / element;
  std::uint8_t* const to = room.data();
  for (std::size_t byte = 0; byte < element; ++byte) {
    const std::uint8_t* const from = shuffled.data() + byte * count;
    for (std::size_t i = 0; i < count; ++i) to[i * element + byte] = from[i];
  }
  const Bytes rest = shuffled.subspan(count * element);
  std::copy(rest.begin(), rest.end(), to + count * element);
  return room.first(shuffled.size());
}

// Old writers on some hosts swapped bytes.
absl::Status CheckFletcher32(Bytes data, Bytes checksum) {
  const auto expected = static_cast<std::uint32_t>(Cursor(checksum).Take(4));
  const std::uint32_t found = Fletcher32(data);
  const std::uint32_t swapped = (found & 0xff00ff00) >> 8 | (found & 0x00ff00ff)
                                                                << 8;
  if (expected == found || expected == swapped) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "is damaged: its checksum is ", absl::Hex(found, absl::kZeroPad8),
      " instead of ", absl::Hex(expected, absl::kZeroPad8)));
}

bool IsLeftOut(std::uint32_t mask, std::size_t filter) {
  return (mask >> filter & 1) != 0;
}

// Bytes that the data of a chunk may have between two filters: one that was
// applied before another may have added a little.
std::uint64_t MostBetween(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  return (bytes + bytes / 64 + 1024) / kAlignment * kAlignment;
}

}  // namespace

absl::StatusOr<std::vector<Filter>> ParseFilters(Bytes message) {
  constexpr std::uint64_t kFirstRegistered = 256;
  Cursor cursor(message);
  const std::uint64_t version = cursor.Take(1);
  const std::uint64_t count = cursor.Take(1);
  if (version < 1 || version > 2 || count > kMostFilters) return Damaged();
  if (version == 1) cursor.Skip(6);
  std::vector<Filter> filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = cursor.Take(2);
    const bool has_name = version == 1 || number >= kFirstRegistered;
    const std::uint64_t name_bytes = has_name ? cursor.Take(2) : 0;
    cursor.Skip(2);
    const std::uint64_t values = cursor.Take(2);
    const Bytes name = cursor.TakeBytes(name_bytes);
    Cursor parameters(cursor.TakeBytes(4 * values));
    if (version == 1 && values % 2 == 1) cursor.Skip(4);
    if (!cursor.ok()) return Damaged();
    Filter filter{.kind = static_cast<FilterKind>(number)};
    switch (filter.kind) {
      case FilterKind::kDeflate:
      case FilterKind::kFletcher32:
      case FilterKind::kLzf:
        break;
      case FilterKind::kShuffle:
        // Without parameters if elements are references.
        filter.element_bytes = static_cast<std::uint32_t>(parameters.Take(4));
        break;
      default:
        return NotRead(number, name);
    }
    filters.push_back(filter);
  }
  return filters;
}

std::uint64_t RoomToUnfilter(const std::vector<Filter>& filters,
                             std::uint32_t mask, std::uint64_t bytes) {
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if (!IsLeftOut(mask, i) && filters[i].kind != FilterKind::kFletcher32)
      ++steps;
  }
  // Data goes back and forth between two halves.
  return std::min<std::uint64_t>(steps, 2) * MostBetween(bytes);
}

absl::StatusOr<Bytes> Unfilter(const std::vector<Filter>& filters,
                               std::uint32_t mask, Bytes chunk,
                               std::uint64_t bytes,
                               absl::Span<std::uint8_t> room) {
  FOREBAY_CHECK(room.size() == RoomToUnfilter(filters, mask, bytes));
  const std::uint64_t most = MostBetween(bytes);
  absl::Span<std::uint8_t> next = room.first(std::min(most, room.size()));
  absl::Span<std::uint8_t> other = room.last(next.size());
  Bytes data = chunk;
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (IsLeftOut(mask, i)) continue;
    switch (filters[i].kind) {
      case FilterKind::kDeflate: {
        FOREBAY_ASSIGN_OR_RETURN(data, Inflate(data, next));
        break;
      }
      case FilterKind::kLzf: {
        FOREBAY_ASSIGN_OR_RETURN(data, UnpackLzf(data, next));
        break;
      }
      case FilterKind::kShuffle: {
        FOREBAY_ASSIGN_OR_RETURN(
            data, Unshuffle(data, filters[i].element_bytes, next));
        break;
      }
      case FilterKind::kFletcher32:
        if (data.size() < kChecksum)
          return absl::DataLossError("is damaged: it has no checksum");
        FOREBAY_RETURN_IF_ERROR(CheckFletcher32(
            data.first(data.size() - kChecksum), data.last(kChecksum)));
        data.remove_suffix(kChecksum);
        continue;
    }
    std::swap(next, other);
  }
  if (data.size() == bytes) return data;
  return absl::DataLossError(absl::StrCat(
      "is damaged: a chunk has ", data.size(), " bytes instead of ", bytes));
}

}  // namespace forebay::dataset::hdf5
