// Casts and normalises elements in blocks.
//
// A block of elements is gathered into a buffer, goes through all steps, and is
// copied to its place. A cast goes from one of two buffers to the other;
// normalising works in place. Templates make code for each pair of element
// types, so that inner loops have no branches on types. Arithmetic on 16-bit
// floating-point numbers is done in float32, and each result is rounded. This
// gives torch's bits.

#include "server/pipeline/ndarray/element_steps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/pipeline/transform/half_floats.h"

namespace forebay::pipeline::ndarray {
namespace {

using proto::DType;

// Number of elements in a block. A block's buffers fit in the first two levels
// of CPU caches.
constexpr std::uint64_t kBlock = 1024;
// Bytes of the largest element type.
constexpr std::uint64_t kLargest = 8;
using Buffer = std::array<std::uint8_t, kBlock * kLargest>;

// An IEEE 754 binary16 number. Arithmetic on it is done in float32.
struct Half {
  std::uint16_t bits;
  explicit Half(float value) : bits(transform::HalfBits(value)) {}
  explicit operator float() const { return transform::FromHalfBits(bits); }
};
// A bfloat16 number. Arithmetic on it is done in float32.
struct Bfloat {
  std::uint16_t bits;
  explicit Bfloat(float value) : bits(transform::BfloatBits(value)) {}
  explicit operator float() const { return transform::FromBfloatBits(bits); }
};

// Calls `function` with std::type_identity<T>(), where T is the C++ type for
// `dtype`.
template <typename Function>
auto WithType(DType dtype, Function function) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      return function(std::type_identity<std::uint8_t>());
    case DType::kInt8:
      return function(std::type_identity<std::int8_t>());
    case DType::kInt16:
      return function(std::type_identity<std::int16_t>());
    case DType::kUint16:
      return function(std::type_identity<std::uint16_t>());
    case DType::kInt32:
      return function(std::type_identity<std::int32_t>());
    case DType::kUint32:
      return function(std::type_identity<std::uint32_t>());
    case DType::kInt64:
      return function(std::type_identity<std::int64_t>());
    case DType::kUint64:
      return function(std::type_identity<std::uint64_t>());
    case DType::kFloat16:
      return function(std::type_identity<Half>());
    case DType::kBfloat16:
      return function(std::type_identity<Bfloat>());
    case DType::kFloat64:
      return function(std::type_identity<double>());
    case DType::kFloat32:
      break;
  }
  return function(std::type_identity<float>());
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 ||
         dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

// Returns the largest number of an integer type; 1 for floating-point types.
double LargestOf(DType dtype) {
  return WithType(dtype, [](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(std::numeric_limits<T>::max());
    } else {
      return 1.0;
    }
  });
}

// The type in which arithmetic on elements of a floating-point type is done.
template <typename T>
using Working = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Reads a value that need not be aligned.
template <typename T>
T Load(const std::uint8_t* at) {
  std::array<std::uint8_t, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  return std::bit_cast<T>(bytes);
}

// Writes a value to an address that need not be aligned.
template <typename T>
void Store(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Casts an element to another type, as torch does.
template <typename To, typename From>
To CastTo(From value) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Bfloat>) {
    return CastTo<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, Bfloat>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    // AddCast refuses casts from floating point to integers.
    return To();
  } else {
    return static_cast<To>(value);
  }
}

// Divides in the type in which arithmetic on T is done.
template <typename T>
T DividedBy(T value, double divisor) {
  using W = Working<T>;
  return static_cast<T>(static_cast<W>(value) / static_cast<W>(divisor));
}

// Gathers elements that lie `stride` bytes apart.
template <std::size_t kBytes>
void Gather(const std::uint8_t* data, std::int64_t stride, std::uint64_t count,
            std::uint8_t* out) {
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(out + i * kBytes, data + static_cast<std::int64_t>(i) * stride,
                kBytes);
}

// Gathers elements of `bytes` bytes each. If `data` is null, writes zeros.
void Gather(const std::uint8_t* data, std::int64_t stride, std::uint64_t count,
            std::uint64_t bytes, std::uint8_t* out) {
  if (data == nullptr) {
    std::memset(out, 0, count * bytes);
  } else if (stride == static_cast<std::int64_t>(bytes)) {
    std::memcpy(out, data, count * bytes);
  } else if (bytes == 1) {
    Gather<1>(data, stride, count, out);
  } else if (bytes == 2) {
    Gather<2>(data, stride, count, out);
  } else if (bytes == 4) {
    Gather<4>(data, stride, count, out);
  } else {
    Gather<8>(data, stride, count, out);
  }
}

// Whether `value` rounds to 0 in the floating-point type `dtype`.
bool RoundsToZero(DType dtype, double value) {
  return WithType(dtype, [value](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return false;
    } else {
      using W = Working<T>;
      return static_cast<W>(static_cast<T>(static_cast<W>(value))) == 0;
    }
  });
}

// Checks that mean and std have one or `wanted` values each, and that all
// values are finite.
absl::Status CheckValues(const proto::Normalize& op, std::size_t wanted) {
  for (const auto* const values : {&op.mean(), &op.std()}) {
    const char* const name = values == &op.mean() ? "mean" : "std";
    const auto count = static_cast<std::size_t>(values->size());
    if (count == 0 || (count != 1 && count != wanted)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has ", count, " values for an axis of length ", wanted));
    }
    for (const double value : *values) {
      if (!std::isfinite(value))
        return absl::InvalidArgumentError(
            absl::StrCat(name, " is ", value, ", which is not a number"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ElementSteps::AddCast(DType dtype, bool scale) {
  if (proto::SizeOf(dtype) == 0 || dtype == DType::kBool)
    return absl::InvalidArgumentError("dtype is none of numbers");
  if (!IsFloat(dtype)) {
    if (IsFloat(to_)) {
      return absl::InvalidArgumentError(
          "numbers with a fraction do not become integers here");
    }
    if (scale) {
      return absl::InvalidArgumentError(
          "scale=True is for integers that become numbers with a fraction");
    }
  }
  // Like torchvision, converts booleans to 0 and 1 without a division, and does
  // not scale floating-point numbers.
  const bool divides = scale && !IsFloat(to_) && to_ != DType::kBool;
  if (dtype == to_) return absl::OkStatus();
  steps_.push_back(
      Cast{.from = to_, .to = dtype, .divisor = divides ? LargestOf(to_) : 1});
  to_ = dtype;
  return absl::OkStatus();
}

absl::Status ElementSteps::AddNormalize(const proto::Normalize& op,
                                        std::optional<std::size_t> axis,
                                        std::uint64_t length) {
  if (!IsFloat(to_)) {
    return absl::InvalidArgumentError(
        "integers cannot be normalised: put ToDtype(\"float32\") before it");
  }
  if (!axis.has_value() && (op.mean_size() > 1 || op.std_size() > 1)) {
    return absl::InvalidArgumentError(
        "axis says which one its several values are of");
  }
  if (absl::Status status = CheckValues(op, axis.has_value() ? length : 1);
      !status.ok()) {
    return status;
  }
  for (const double std : op.std()) {
    if (RoundsToZero(to_, std))
      return absl::InvalidArgumentError("std is 0 once rounded to the dtype");
  }
  Normalize step{.dtype = to_,
                 .mean = {op.mean().begin(), op.mean().end()},
                 .std = {op.std().begin(), op.std().end()},
                 .axis = axis.value_or(0)};
  // A single value is repeated, so that mean and std have equal lengths.
  const std::size_t values = std::max(step.mean.size(), step.std.size());
  step.mean.resize(values, step.mean.front());
  step.std.resize(values, step.std.front());
  use_index_ |= values > 1;
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

// The conversion of one block.
void ElementSteps::Do(const Cast& step, std::uint64_t count,
                      const std::uint8_t* in, std::uint8_t* out) {
  WithType(step.from, [&](auto from) {
    WithType(step.to, [&](auto to) {
      using From = typename decltype(from)::type;
      using To = typename decltype(to)::type;
      for (std::uint64_t i = 0; i < count; ++i) {
        To value = CastTo<To>(Load<From>(in + i * sizeof(From)));
        if constexpr (!std::is_integral_v<To>) {
          if (step.divisor != 1) value = DividedBy(value, step.divisor);
        }
        Store(out + i * sizeof(To), value);
      }
    });
  });
}

void ElementSteps::Do(const Normalize& step, std::uint64_t count,
                      absl::Span<const std::uint64_t> index,
                      std::uint8_t* values) {
  // If mean and std change along the last axis, they change from element to
  // element. If they change along another axis, they are the same for the whole
  // run.
  const bool each = step.mean.size() > 1 && step.axis + 1 == index.size();
  const std::uint64_t first = step.mean.size() > 1 ? index[step.axis] : 0;
  WithType(step.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (!std::is_integral_v<T>) {
      using W = Working<T>;
      // Torch rounds after every operation, so each result is rounded to T.
      const auto rounded = [](W value) {
        return static_cast<W>(static_cast<T>(value));
      };
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = first + (each ? i : 0);
        const W mean = rounded(static_cast<W>(step.mean[at]));
        const W std = rounded(static_cast<W>(step.std[at]));
        const W value = static_cast<W>(Load<T>(values + i * sizeof(T)));
        Store(values + i * sizeof(T),
              static_cast<T>(rounded(value - mean) / std));
      }
    }
  });
}

void ElementSteps::Run(const std::uint8_t* data, std::int64_t stride,
                       std::uint64_t count,
                       absl::Span<const std::uint64_t> index,
                       std::uint8_t* out) const {
  const std::uint64_t in_bytes = proto::SizeOf(from_);
  const std::uint64_t out_bytes = proto::SizeOf(to_);
  if (steps_.empty()) return Gather(data, stride, count, in_bytes, out);
  // From block to block, the index advances along the last axis.
  std::array<std::uint64_t, proto::kMaxRank> at{};
  std::copy(index.begin(), index.end(), at.begin());
  const absl::Span<std::uint64_t> place(at.data(), index.size());
  std::array<Buffer, 2> buffers;
  std::uint8_t* values = buffers[0].data();
  std::uint8_t* spare = buffers[1].data();
  for (std::uint64_t done = 0; done < count; done += kBlock) {
    const std::uint64_t some = std::min(kBlock, count - done);
    Gather(data == nullptr ? nullptr
                           : data + static_cast<std::int64_t>(done) * stride,
           stride, some, in_bytes, values);
    for (const Step& step : steps_) {
      if (const auto* const cast = std::get_if<Cast>(&step)) {
        Do(*cast, some, values, spare);
        std::swap(values, spare);
      } else {
        Do(std::get<Normalize>(step), some, place, values);
      }
    }
    std::memcpy(out + done * out_bytes, values, some * out_bytes);
    if (!place.empty()) place.back() += some;
  }
}

}  // namespace forebay::pipeline::ndarray
