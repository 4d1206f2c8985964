#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWN_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWN_H_

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace forebay::pipeline::transform {

// The random choices that an op has made for one sample: a struct that only the
// op itself knows, copied by value. Not thread-safe. Never allocates or blocks.
// No errors.
class Drawn {
 public:
  // Holds no choices, for an op that draws nothing.
  Drawn() = default;

  // Holds a copy of `choices`.
  template <typename Choices>
  explicit Drawn(const Choices& choices) {
    static_assert(std::is_trivially_copyable_v<Choices>);
    static_assert(sizeof(Choices) <= kBytes);
    std::memcpy(bytes_.data(), &choices, sizeof(choices));
  }

  // Returns the choices. `Choices` is the type that the constructor was given.
  template <typename Choices>
  Choices As() const {
    Choices choices;
    std::memcpy(&choices, bytes_.data(), sizeof(choices));
    return choices;
  }

 private:
  static constexpr std::size_t kBytes = 96;

  std::array<std::byte, kBytes> bytes_{};
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWN_H_
