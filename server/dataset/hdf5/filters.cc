#include "server/dataset/hdf5/filters.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
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

// Inflates a zlib stream of at most `most` bytes.
absl::StatusOr<std::string> Inflate(Bytes packed, std::uint64_t most) {
  if (packed.size() > std::numeric_limits<uInt>::max() ||
      most > std::numeric_limits<uInt>::max())
    return absl::DataLossError("is too long for zlib");
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK)
    return absl::ResourceExhaustedError("there is no memory to inflate with");
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  std::string out;
  out.resize(most);
  // zlib reads there alone; its type is older than const.
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(most);
  if (packed.empty() || inflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return absl::DataLossError(absl::StrCat(
        "its deflated data is damaged",
        stream.msg == nullptr ? "" : absl::StrCat(" (", stream.msg, ")")));
  }
  out.resize(most - stream.avail_out);
  return out;
}

absl::Status LzfDamaged() {
  return absl::DataLossError("its LZF data is damaged");
}

// A byte below 32 says how many literal bytes follow, less one. Else it begins
// a reference: three bits of a length, and five of a distance.
absl::StatusOr<std::string> UnpackLzf(Bytes packed, std::uint64_t most) {
  constexpr std::uint64_t kLiterals = 32;
  std::string out;
  out.reserve(most);
  Cursor cursor(packed);
  while (!cursor.rest().empty()) {
    const std::uint64_t control = cursor.Take(1);
    if (control < kLiterals) {
      const Bytes bytes = cursor.TakeBytes(control + 1);
      if (!cursor.ok() || bytes.size() > most - out.size()) return LzfDamaged();
      out.append(bytes.begin(), bytes.end());
      continue;
    }
    std::uint64_t length = control >> 5;
    if (length == 7) length += cursor.Take(1);
    length += 2;
    const std::uint64_t distance = (control & 31) * 256 + cursor.Take(1) + 1;
    if (!cursor.ok() || distance > out.size() || length > most - out.size())
      return LzfDamaged();
    // A copy may go on into itself.
    for (std::uint64_t i = 0; i < length; ++i)
      out += out[out.size() - distance];
  }
  return out;
}

std::string Unshuffle(Bytes shuffled, std::size_t element) {
  const std::size_t count = shuffled.size() / element;
  std::string out;
  out.resize(shuffled.size());
  auto* const to = reinterpret_cast<std::uint8_t*>(out.data());
  for (std::size_t byte = 0; byte < element; ++byte) {
    const std::uint8_t* const from = shuffled.data() + byte * count;
    for (std::size_t i = 0; i < count; ++i) to[i * element + byte] = from[i];
  }
  const Bytes rest = shuffled.subspan(count * element);
  std::copy(rest.begin(), rest.end(), to + count * element);
  return out;
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

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
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
        filter.element_bytes = static_cast<std::uint32_t>(parameters.Take(4));
        if (filter.element_bytes == 0) return Damaged();
        break;
      default:
        return NotRead(number, name);
    }
    filters.push_back(filter);
  }
  return filters;
}

absl::StatusOr<std::string> Unfilter(const std::vector<Filter>& filters,
                                     std::uint32_t mask, Bytes chunk,
                                     std::uint64_t bytes) {
  // A filter that was applied before another may have added a little.
  const std::uint64_t most = bytes + bytes / 64 + 1024;
  std::string made;
  Bytes data = chunk;
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((mask >> i & 1) != 0) continue;
    std::string next;
    switch (filters[i].kind) {
      case FilterKind::kDeflate: {
        FOREBAY_ASSIGN_OR_RETURN(next, Inflate(data, most));
        break;
      }
      case FilterKind::kLzf: {
        FOREBAY_ASSIGN_OR_RETURN(next, UnpackLzf(data, most));
        break;
      }
      case FilterKind::kShuffle:
        next = Unshuffle(data, filters[i].element_bytes);
        break;
      case FilterKind::kFletcher32:
        if (data.size() < kChecksum)
          return absl::DataLossError("is damaged: it has no checksum");
        FOREBAY_RETURN_IF_ERROR(CheckFletcher32(
            data.first(data.size() - kChecksum), data.last(kChecksum)));
        data.remove_suffix(kChecksum);
        continue;
    }
    made = std::move(next);
    data = AsBytes(made);
  }
  if (data.size() != bytes) {
    return absl::DataLossError(absl::StrCat(
        "is damaged: a chunk has ", data.size(), " bytes instead of ", bytes));
  }
  if (made.size() == bytes) return made;
  return std::string(data.begin(), data.end());
}

}  // namespace forebay::dataset::hdf5
